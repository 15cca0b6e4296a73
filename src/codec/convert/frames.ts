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
 * Counts the frames of a GIF, WebP or PNG from the structure of its file, up to `most`; returns 1 for other formats.
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

/** Returns a byte of a file by position, reading in blocks; `undefined` past its end. */
type Window = (at: number) => number | undefined | Promise<number | undefined>;

function createWindow(file: FileHandle): Window {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let start = 0;
  let length = 0;
  const load = async (at: number) => {
    start = at;
    length = (await file.read(buffer, 0, CHUNK_BYTES, at)).bytesRead;
    return length > 0 ? buffer[0] : undefined;
  };
  return (at) => (at >= start && at < start + length ? buffer[at - start] : load(at));
}

/** Counts image descriptors up to the trailer (GIF89a, sections 20 to 27). */
async function gifFrames(byte: Window, most: number): Promise<Frames> {
  let at = 13 + tableBytes((await byte(10)) ?? 0);
  let count = 0;
  while (count < most) {
    const label = await byte(at);
    if (label === 0x2c) {
      count++;
      at += 10 + tableBytes((await byte(at + 9)) ?? 0) + 1;
    } else if (label === 0x21) at += 2;
    else return { count, complete: label !== undefined };
    for (let size = await byte(at); size; size = await byte(at)) at += size + 1;
    at++;
  }
  return { count, complete: true };
}

/** Returns the size of the colour table that packed fields announce, in bytes. */
export function tableBytes(packed: number): number {
  return packed & 0x80 ? 3 * 2 ** ((packed & 7) + 1) : 0;
}

/** Counts `ANMF` chunks (RFC 9649, section 2.7). */
async function webpFrames(byte: Window, most: number): Promise<Frames> {
  let count = 0;
  for (let at = 12; count < most; ) {
    const bytes = await bytesAt(byte, at, 8);
    if (!bytes) break;
    if (bytes.toString('latin1', 0, 4) === 'ANMF') count++;
    const size = bytes.readUInt32LE(4);
    at += 8 + size + (size % 2);
  }
  return { count, complete: true };
}

/** Counts `fcTL` chunks, if an `acTL` before the pixels announces them (PNG, third edition, section 11.3.6). */
async function pngFrames(byte: Window, most: number): Promise<Frames> {
  let count = 0;
  let moves = false;
  for (let at = 8; count < most; ) {
    const head = await bytesAt(byte, at, 8);
    const type = head?.toString('latin1', 4);
    if (!head || type === 'IEND' || (type === 'IDAT' && !moves)) break;
    if (type === 'acTL') moves = true;
    if (type === 'fcTL') count++;
    at += 12 + head.readUInt32BE(0);
  }
  return { count: moves ? count : 1, complete: true };
}

async function bytesAt(byte: Window, at: number, count: number): Promise<Buffer | null> {
  const bytes = Buffer.alloc(count);
  for (let offset = 0; offset < count; offset++) {
    const value = await byte(at + offset);
    if (value === undefined) return null;
    bytes[offset] = value;
  }
  return bytes;
}

const WALKS = new Map<Header['kind'], (byte: Window, most: number) => Promise<Frames>>([
  ['gif', gifFrames],
  ['webp', webpFrames],
  ['png', pngFrames],
]);
