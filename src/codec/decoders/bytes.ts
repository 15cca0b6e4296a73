import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** A file that is read in parts, because it may be far larger than its picture. */
export interface Bytes {
  readonly length: number;
  /** Returns fewer bytes than asked for at the end of the file. */
  read(at: number, bytes: number): Buffer;
}

export function bytesIn(file: Buffer): Bytes {
  return { length: file.length, read: (at, bytes) => file.subarray(at, at + bytes) };
}

/** Opens a file while `work` runs. */
export function withBytesOf<T>(path: string, work: (file: Bytes) => T): T {
  const file = openSync(path, 'r');
  try {
    const { size: length } = fstatSync(file);
    const read = (at: number, bytes: number) => {
      const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, length - at)));
      return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, at));
    };
    return work({ length, read });
  } finally {
    closeSync(file);
  }
}

/** Returns the first bytes of a file, fewer if it is shorter. */
export async function readHead(path: string, bytes: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
