import { crc32 } from 'node:zlib';
import { long, readHead } from './bytes.ts';
import type { Cicp } from './cicp.ts';

export const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

interface Chunk {
  type: string;
  data: Buffer;
}

/** Yields the chunks of a PNG file up to the first damaged one. */
export function* chunksOf(file: Buffer): Generator<Chunk> {
  for (let at = PNG_SIGNATURE.length; at + 12 <= file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    if (end + 4 > file.length || crc32(file.subarray(at + 4, end)) !== file.readUInt32BE(end)) return;
    yield { type: file.toString('latin1', at + 4, at + 8), data: file.subarray(at + 8, end) };
    at = end + 4;
  }
}

/** Returns a chunk in parts: header, data, checksum. */
export function writeChunk(type: string, data: Buffer): Buffer[] {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length, 0);
  head.write(type, 4, 'latin1');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(data, crc32(head.subarray(4))), 0);
  return [head, data, sum];
}

/** Returns the first chunk of a PNG file with 8 bits a channel, in parts. */
export function writeHeader(
  { width, height }: { width: number; height: number },
  colourType: number,
): Buffer[] {
  return writeChunk('IHDR', Buffer.from([...long(width), ...long(height), 8, colourType, 0, 0, 0]));
}

/** Enough for the relevant chunks before the pixels: profiles have some kilobytes. */
const HEAD_BYTES = 65_536;

/**
 * Returns how the numbers of a PNG file represent colours, if a `cICP` chunk says so (PNG, third edition, section
 * 11.3.2.6).
 */
export async function readPngCicp(path: string): Promise<Cicp | null> {
  for (const { type, data } of chunksOf(await readHead(path, HEAD_BYTES))) {
    if (type === 'cICP' && data.length === 4) return { primaries: data[0] ?? 0, transfer: data[1] ?? 0 };
    if (type === 'IDAT') break;
  }
  return null;
}
