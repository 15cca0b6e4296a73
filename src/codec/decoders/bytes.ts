import { open } from 'node:fs/promises';

/** Returns the first bytes of a file, or those from `at` on; fewer if it is shorter. */
export async function readHead(path: string, bytes: number, at = 0): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, at);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Returns the integers of a TIFF structure, which EXIF and indexes in JPEG use as well (TIFF 6.0, section 2). */
export function integersOf(structure: Buffer) {
  const isLittle = structure.toString('latin1', 0, 2) === 'II';
  return {
    isLittle,
    short: (bytes: Buffer, at: number) => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at)),
    long: (bytes: Buffer, at: number) => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)),
  };
}

/** Reads unsigned integers of 2 and 4 bytes, in the byte order that the structure has. */
export type Integers = ReturnType<typeof integersOf>;

/** Return the bytes of an integer, the highest first, as PNG and ISO base media files have them. */
export const short = (value: number) => [(value >> 8) & 0xff, value & 0xff];
export const long = (value: number) => [...short(value >>> 16), ...short(value & 0xffff)];

/** Reports whether all pixels of RGBA have that alpha. */
export function isAlpha(alpha: number, pixels: Uint8Array | Uint8ClampedArray): boolean {
  for (let at = 3; at < pixels.length; at += 4) if (pixels[at] !== alpha) return false;
  return true;
}

/** More than the line break or the few bytes of padding that programs add after the end of a picture. */
export const TAIL_BYTES = 32;

/** Reports whether the bytes behind the end of a picture may say something. */
export function saysMore(tail: Buffer): boolean {
  return tail.length >= TAIL_BYTES && tail.some((byte) => byte !== tail[0]);
}

/** Returns what decoders throw for a file that they cannot read; see `decoding`, which names its format. */
export const damaged = () => new Error('The file is damaged or truncated.');

/** Returns `null` for data that are broken. */
export function orNothing<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    // An offset points outside the data.
    if (error instanceof RangeError) return null;
    throw error;
  }
}
