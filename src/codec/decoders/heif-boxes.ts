import { orNothing, readHead } from './bytes.ts';
import type { Cicp } from './cicp.ts';

/** What the boxes of a HEIF, HEIC or AVIF file say beyond what its decoder reports. */
export interface HeifParts {
  /** How the main picture's numbers represent colours; `null` if the file does not say. */
  cicp: Cicp | null;
  /** Whether it is AVIF without chroma whose numbers leave out both ends of the range, which libheif does not stretch; `null` if only its data tell. */
  narrowGrey: boolean | null;
  /** Whether the colours are multiplied by the mask (MIAF, `prem`), which libheif leaves as they are. */
  premultiplied: boolean;
  /** Whether a gain map makes the picture brighter on an HDR screen (ISO 21496-1, Apple). */
  gainMap: boolean;
  /** Number of pictures in an image sequence; 0 if the file is not one. */
  sequence: number;
  /** Whether the file is an animated AVIF, in which sharp reads no picture at all. */
  moves: boolean;
}

/** Brands of image sequences. */
const SEQUENCES = ['avis', 'msf1', 'hevc', 'hevx'];

/** Maximum size of the boxes before the pixels. */
const HEAD_BYTES = 1_048_576;

/** Reads the boxes of a file (ISO/IEC 14496-12 and 23008-12). Broken boxes count as missing. */
export async function readHeifParts(path: string): Promise<HeifParts> {
  const head = await readHead(path, HEAD_BYTES);
  return orNothing(() => parseHeif(head)) ?? parseHeif(Buffer.alloc(0));
}

/** Reads the boxes at the beginning of a file. Throws a `RangeError` if they are broken. */
export function parseHeif(head: Buffer): HeifParts {
  const meta = boxIn(head, 'meta').subarray(4);
  const brand = boxIn(head, 'ftyp').toString('latin1', 0, 4);
  const properties = propertiesIn(meta);
  const colour = properties.find(
    ({ type, body }) => type === 'colr' && body.length >= 11 && body.toString('latin1', 0, 4) === 'nclx',
  )?.body;
  const av1 = properties.find(({ type, body }) => type === 'av1C' && body.length >= 3)?.body;
  return {
    cicp: colour ? { primaries: colour.readUInt16BE(4), transfer: colour.readUInt16BE(6) } : null,
    // The flags `monochrome` (AV1-ISOBMFF, section 2.3.3) and `full_range_flag`.
    narrowGrey: ((av1?.[2] ?? 0) & 0x10) !== 0 && (colour ? ((colour[10] ?? 0) & 0x80) === 0 : null),
    premultiplied: boxesIn(boxIn(meta, 'iref').subarray(4)).some(({ type }) => type === 'prem'),
    gainMap: meta.includes('aux:hdrgainmap') || /infe.{8}tmap/s.test(meta.toString('latin1')),
    sequence: SEQUENCES.includes(brand) ? samplesIn(boxIn(head, 'moov')) : 0,
    moves: brand === 'avis',
  };
}

/** Counts the samples of the first track (ISO/IEC 14496-12, section 8.7.3.2). */
function samplesIn(movie: Buffer): number {
  if (movie.length === 0) return 0;
  const at = movie.indexOf('stsz');
  return at < 0 || at + 16 > movie.length ? 1 : movie.readUInt32BE(at + 12);
}

export interface Box {
  type: string;
  body: Buffer;
}

/** Yields consecutive boxes. The last one may be truncated. */
export function* boxesIn(bytes: Buffer): Generator<Box> {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const short = bytes.readUInt32BE(at);
    const isLong = short === 1 && at + 16 <= bytes.length;
    const size = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? bytes.length - at : short;
    const headBytes = isLong ? 16 : 8;
    if (size < headBytes) return;
    yield {
      type: bytes.toString('latin1', at + 4, at + 8),
      body: bytes.subarray(at + headBytes, at + size),
    };
    at += size;
  }
}

export function boxIn(bytes: Buffer, type: string): Buffer {
  return boxesIn(bytes).find((box) => box.type === type)?.body ?? Buffer.alloc(0);
}

/** Returns the properties of all pictures, those that are assigned to the main one first. */
function propertiesIn(meta: Buffer): Box[] {
  const pitm = boxIn(meta, 'pitm');
  const main = pitm.length < 6 ? -1 : pitm[0] === 0 ? pitm.readUInt16BE(4) : pitm.readUInt32BE(4);
  const iprp = boxIn(meta, 'iprp');
  const properties = [...boxesIn(boxIn(iprp, 'ipco'))];
  const own = propertiesOf(boxIn(iprp, 'ipma'), main).flatMap((index) => properties[index - 1] ?? []);
  return [...own, ...properties];
}

/** Returns the positions, counted from 1, of the properties of one item (ISO/IEC 23008-12, section 9.3). */
export function propertiesOf(ipma: Buffer, item: number): number[] {
  if (ipma.length < 8) return [];
  const longItems = (ipma[0] ?? 0) > 0;
  const longPlaces = ((ipma[3] ?? 0) & 1) === 1;
  let at = 8;
  for (let entry = 0; entry < ipma.readUInt32BE(4); entry++) {
    const id = longItems ? ipma.readUInt32BE(at) : ipma.readUInt16BE(at);
    at += longItems ? 4 : 2;
    const count = ipma.readUInt8(at++);
    const places: number[] = [];
    for (let place = 0; place < count; place++) {
      places.push(longPlaces ? ipma.readUInt16BE(at) & 0x7fff : ipma.readUInt8(at) & 0x7f);
      at += longPlaces ? 2 : 1;
    }
    if (id === item) return places;
  }
  return [];
}
