import { readFile, stat } from 'node:fs/promises';
import { INPUT, type Metadata, type SharpConstructor } from '../convert/sharp.ts';
import { damaged, integersOf, readHead, saysMore, TAIL_BYTES } from './bytes.ts';

/** What a file contains besides its picture. */
export interface Parts {
  /** Whether a gain map makes the picture brighter on an HDR screen (ISO 21496-1, Adobe, Apple). */
  gainMap: boolean;
  /** Number of separate pictures, without thumbnails and gain maps. */
  pictures: number;
  /** Whether a JPEG file has comments, or segments of programs and makers, which sharp does not read. */
  tells?: boolean;
  /** Whether a JPEG file has its end mark where it ends. */
  ends?: boolean;
  /** Whether it has more than padding behind its end. */
  trails?: boolean;
}

/** Enough for all segments before the picture, even if a phone writes a large thumbnail. */
const HEAD_BYTES = 262_144;
/** Enough, in another picture of the file, for the segments that announce a gain map. */
const OTHER_BYTES = 4096;

/** Segments that say how to show the picture, that sharp reads, or that have warnings of their own. */
const KNOWN =
  /^(JFIF\0|Exif\0|http:\/\/ns\.|ICC_PROFILE\0|MPF\0|urn:iso:std:iso:ts|JP|Photoshop |Adobe|Ducky)/;
const END = Buffer.from('ffd9', 'hex');
/** Codes of pixels unlike those that decoders make up where some are missing. One alone may happen to change nothing. */
const OTHER_CODES = [0x24, 0x5a].map((byte) => Buffer.alloc(64, byte));
/** The rows that the last blocks may have, in which pixels are missing first. */
const LAST_ROWS = 32;

const XMP = 'http://ns.adobe.com/xap/1.0/\0';
const ISO_GAIN_MAP = 'urn:iso:std:iso:ts:21496:-1';
const GAIN_MAP = /hdr-gain-map|hdrgainmap|urn:iso:std:iso:ts:21496/;

/** Reports whether the beginning of a JPEG file announces a gain map. */
export function hasGainMap(file: Buffer): boolean {
  return [...segments(file.subarray(0, HEAD_BYTES))].some(announcesGainMap);
}

/** Other texts, such as those in EXIF, may have the same words. */
function announcesGainMap({ marker, data }: Segment): boolean {
  const text = data.toString('latin1');
  return (
    (marker === 0xe1 && text.startsWith(XMP) && GAIN_MAP.test(text)) ||
    (marker === 0xe2 && text.startsWith(ISO_GAIN_MAP))
  );
}

/**
 * Returns a file that lacks only its end mark, as some cameras write it, with that mark; `null` if libjpeg reads it as it is, or there is a mark
 * behind its head. Throws if pixels are missing: libjpeg warns of it above the last rows, and in them draws what follows in their place.
 */
export async function withEnd(
  path: string,
  { width, height }: Metadata,
  sharp: SharpConstructor,
): Promise<Buffer | null> {
  const file = await readFile(path);
  const top = Math.max(0, height - LAST_ROWS);
  const last = { left: 0, top, width, height: height - top };
  const drawn = (picture: Buffer, failOn: 'error' | 'warning' = 'error') =>
    sharp(picture, { ...INPUT, failOn })
      .extract(last)
      .raw()
      .toBuffer();
  if (file.includes(END, HEAD_BYTES) || (await drawn(file).catch(() => null))) return null;
  // Half of the mark may be there.
  const codes = file.at(-1) === END[0] ? file.subarray(0, -1) : file;
  const ended = Buffer.concat([codes, END]);
  const shown = await drawn(ended, 'warning');
  for (const other of OTHER_CODES)
    if (!shown.equals(await drawn(Buffer.concat([codes, other, END])))) throw damaged();
  return ended;
}

/** Reads the segments of a JPEG file. Broken ones count as missing. */
export async function readJpegParts(path: string): Promise<Parts> {
  const tail = await readHead(path, TAIL_BYTES, Math.max(0, (await stat(path)).size - TAIL_BYTES));
  const ends = tail.includes(END);
  const parts: Parts = { gainMap: false, pictures: 1, tells: false, ends, trails: !ends && saysMore(tail) };
  for (const segment of segments(await readHead(path, HEAD_BYTES))) {
    const { marker, at, data } = segment;
    parts.gainMap ||= announcesGainMap(segment);
    const isProgram = (marker & 0xf0) === 0xe0 && !KNOWN.test(data.toString('latin1', 0, 20));
    parts.tells ||= data.length > 0 && (marker === 0xfe || isProgram);
    if (marker === 0xe2 && data.indexOf('MPF\0') === 0) await countOthers(path, at + 4, data, parts);
  }
  return parts;
}

export interface Segment {
  marker: number;
  /** Where its data begin. */
  at: number;
  data: Buffer;
}

/** Yields the segments with a length, up to the picture (ITU-T T.81, B.1.1.4). */
export function* segments(head: Buffer): Generator<Segment> {
  for (let at = 2; at + 4 <= head.length && head[at] === 0xff; ) {
    const marker = head[at + 1] ?? 0;
    if (marker === 0xff) {
      at++;
      continue;
    }
    const size = head.readUInt16BE(at + 2);
    if (marker === 0xda || size < 2) return;
    yield { marker, at: at + 4, data: head.subarray(at + 4, at + 2 + size) };
    at += 2 + size;
  }
}

/** Maximum number of index entries that are read. */
const MOST_OTHERS = 32;
const MP_ENTRY = 0xb002;

/** Reads the index of the pictures in the file (CIPA DC-007, section 5.2.3), whose offsets are relative to `base`. */
async function countOthers(path: string, base: number, data: Buffer, parts: Parts): Promise<void> {
  const index = data.subarray(4);
  const integers = integersOf(index);
  const short = (at: number) => (at + 2 > index.length ? 0 : integers.short(index, at));
  const long = (at: number) => (at + 4 > index.length ? 0 : integers.long(index, at));
  const directory = long(4);
  for (let tag = 0; tag < Math.min(short(directory), MOST_OTHERS); tag++) {
    const at = directory + 2 + tag * 12;
    if (short(at) !== MP_ENTRY) continue;
    const entries = Math.min(long(at + 4) / 16, MOST_OTHERS);
    for (let entry = 1; entry < entries; entry++) {
      const record = long(at + 8) + entry * 16;
      const isThumbnail = ((long(record) >>> 16) & 0xff) === 0x01;
      const offset = long(record + 8);
      if (isThumbnail || offset === 0) continue;
      const other = await readHead(path, OTHER_BYTES, base + offset);
      if (GAIN_MAP.test(other.toString('latin1'))) parts.gainMap = true;
      else parts.pictures++;
    }
    return;
  }
}
