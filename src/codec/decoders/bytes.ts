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

/** Reads unsigned integers of 2 and 4 bytes, in the byte order that the structure has. */
export interface Integers {
  readonly isLittle: boolean;
  short(bytes: Buffer, at: number): number;
  long(bytes: Buffer, at: number): number;
}

const LITTLE: Integers = {
  isLittle: true,
  short: (bytes, at) => bytes.readUInt16LE(at),
  long: (bytes, at) => bytes.readUInt32LE(at),
};
const BIG: Integers = {
  isLittle: false,
  short: (bytes, at) => bytes.readUInt16BE(at),
  long: (bytes, at) => bytes.readUInt32BE(at),
};

/** Returns the integers of a TIFF structure, which EXIF and indexes in JPEG use as well (TIFF 6.0, section 2). */
export function integersOf(structure: Buffer): Integers {
  return structure.toString('latin1', 0, 2) === 'II' ? LITTLE : BIG;
}

/** Returns what decoders throw for a file that they cannot read; see `decoding`, which names its format. */
export const damaged = () => new Error('The file is damaged or truncated.');
