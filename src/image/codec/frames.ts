import { type FileHandle, open } from 'node:fs/promises';
import type { Header } from './header.ts';

const CHUNK_BYTES = 65_536;

/** The frames of a file, as its structure tells. */
export interface Frames {
  /** 1 for a still picture. */
  count: number;
  /** False: the file ends before its end mark. Always true of formats whose decoders refuse such files. */
  complete: boolean;
}

/**
 * Counts the frames of a GIF or WebP from the structure of its file, up to `most`; 1 for other formats. Decodes
 * nothing, so that a file that lies about its frames is only priced wrongly.
 */
export async function countFrames(path: string, kind: Header['kind'], most: number): Promise<Frames> {
  if (kind !== 'gif' && kind !== 'webp') return { count: 1, complete: true };
  const file = await open(path, 'r');
  try {
    const bytes = createWindow(file);
    const { count, complete } = await (kind === 'gif' ? gifFrames(bytes, most) : webpFrames(bytes, most));
    return { count: Math.max(1, count), complete };
  } finally {
    await file.close();
  }
}

/** Bytes of a file by their place, read a piece at a time; `undefined` past its end. */
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

/** Image descriptors up to the trailer (GIF89a, sections 20 to 27). */
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

/** Bytes of the colour table that packed fields announce. */
function tableBytes(packed: number): number {
  return packed & 0x80 ? 3 * 2 ** ((packed & 7) + 1) : 0;
}

/** `ANMF` chunks (RFC 9649, section 2.7). */
async function webpFrames(byte: Window, most: number): Promise<Frames> {
  let count = 0;
  for (let at = 12; count < most; ) {
    const chunk = [];
    for (let offset = 0; offset < 8; offset++) chunk.push((await byte(at + offset)) ?? -1);
    if (chunk.includes(-1)) break;
    const bytes = Buffer.from(chunk);
    if (bytes.toString('latin1', 0, 4) === 'ANMF') count++;
    const size = bytes.readUInt32LE(4);
    at += 8 + size + (size % 2);
  }
  return { count, complete: true };
}
