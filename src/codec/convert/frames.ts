import { type FileHandle, open } from 'node:fs/promises';
import type { Header } from './header.ts';

const CHUNK_BYTES = 65_536;

/** The frames of a file, according to its structure. */
interface Frames {
  /** 1 for a still picture. */
  count: number;
  /** False if the file ends before its end mark. Always true for formats whose decoders refuse such files. */
  complete: boolean;
}

/**
 * Counts the frames of a GIF, WebP, PNG or AVIF from the structure of its file, up to `most`; returns 1 for other formats.
 * Decodes nothing, so a file with a false structure is merely priced wrongly.
 */
export async function countFrames(path: string, kind: Header['kind'], most: number): Promise<Frames> {
  const walk = WALKS.get(kind);
  if (!walk) return { count: 1, complete: true };
  const file = await open(path, 'r');
  try {
    const { count, complete } = await walk(createWindow(file), most);
    return { count: Math.max(1, count), complete };
  } finally {
    await file.close();
  }
}

function createWindow(file: FileHandle) {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let start = 0;
  let length = 0;
  const find = (at: number, count: number) =>
    at >= start && at + count <= start + length ? at - start : undefined;
  return {
    buffer,
    /** Returns where in `buffer` those bytes of the file are, or `undefined` if they are not there. */
    find,
    /** Reads from there on. Resolves with the same, `undefined` if the file ends before. */
    async load(at: number, count: number): Promise<number | undefined> {
      start = at;
      length = (await file.read(buffer, 0, CHUNK_BYTES, at)).bytesRead;
      return find(at, count);
    },
  };
}

/** The part of a file that is in memory. Only reading the next one waits, because 32 MiB can hold 16 million blocks. */
type Window = ReturnType<typeof createWindow>;

/** Counts image descriptors up to the trailer (GIF89a, sections 20 to 27). */
async function gifFrames({ buffer, find, load }: Window, most: number): Promise<Frames> {
  const byte = async (at: number) => buffer[find(at, 1) ?? (await load(at, 1)) ?? CHUNK_BYTES];
  let at = 13 + tableBytes((await byte(10)) ?? 0);
  let count = 0;
  while (count < most) {
    const place = find(at, 1) ?? (await load(at, 1));
    const label = place === undefined ? undefined : buffer[place];
    if (label === 0x2c) {
      count++;
      at += 10 + tableBytes((await byte(at + 9)) ?? 0) + 1;
    } else if (label === 0x21) at += 2;
    else return { count, complete: label !== undefined };
    for (;;) {
      const block = find(at, 1) ?? (await load(at, 1));
      const size = block === undefined ? 0 : (buffer[block] ?? 0);
      at += size + 1;
      if (size === 0) break;
    }
  }
  return { count, complete: true };
}

/** Returns the size of the colour table that packed fields announce, in bytes. */
export function tableBytes(packed: number): number {
  return packed & 0x80 ? 3 * 2 ** ((packed & 7) + 1) : 0;
}

/** Counts `ANMF` chunks (RFC 9649, section 2.7). */
async function webpFrames({ buffer, find, load }: Window, most: number): Promise<Frames> {
  let count = 0;
  for (let at = 12; count < most; ) {
    const place = find(at, 8) ?? (await load(at, 8));
    if (place === undefined) break;
    if (buffer.readUInt32BE(place) === ANMF) count++;
    const size = buffer.readUInt32LE(place + 4);
    at += 8 + size + (size % 2);
  }
  return { count, complete: true };
}

/** Counts `fcTL` chunks, if an `acTL` before the pixels announces them (PNG, third edition, section 11.3.6). */
async function pngFrames({ buffer, find, load }: Window, most: number): Promise<Frames> {
  let count = 0;
  let moves = false;
  for (let at = 8; count < most; ) {
    const place = find(at, 8) ?? (await load(at, 8));
    if (place === undefined) break;
    const type = buffer.readUInt32BE(place + 4);
    if (type === IEND || (type === IDAT && !moves)) break;
    if (type === ACTL) moves = true;
    if (type === FCTL) count++;
    at += 12 + buffer.readUInt32BE(place);
  }
  return { count: moves ? count : 1, complete: true };
}

/** Reads the number of samples in the first track of an animated AVIF (ISO/IEC 14496-12, section 8.7.3.2). */
async function avifFrames({ buffer, find, load }: Window, most: number): Promise<Frames> {
  let count = 1;
  for (let at = 0; ; ) {
    const place = find(at, 20) ?? (await load(at, 20));
    if (place === undefined || (at === 0 && buffer.readUInt32BE(8) !== AVIS)) break;
    const type = buffer.readUInt32BE(place + 4);
    const short = buffer.readUInt32BE(place);
    const size = short === 1 ? buffer.readUIntBE(place + 10, 6) : short;
    if (type === STSZ) count = Math.min(most, buffer.readUInt32BE(place + 16));
    if (type === STSZ || size < 8) break;
    at += AROUND_STSZ.includes(type) ? 8 : size;
  }
  return { count, complete: true };
}

const numberOf = (name: string) => Buffer.from(name).readUInt32BE();
/** Names of chunks and boxes as integers. */
const [ANMF, IEND, IDAT, ACTL, FCTL] = ['ANMF', 'IEND', 'IDAT', 'acTL', 'fcTL'].map(numberOf);
const [AVIS, STSZ] = ['avis', 'stsz'].map(numberOf);
const AROUND_STSZ = ['moov', 'trak', 'mdia', 'minf', 'stbl'].map(numberOf);

const WALKS = new Map<Header['kind'], (window: Window, most: number) => Promise<Frames>>([
  ['gif', gifFrames],
  ['webp', webpFrames],
  ['png', pngFrames],
  ['heif', avifFrames],
]);
