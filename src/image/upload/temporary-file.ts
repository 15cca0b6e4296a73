import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storageFull } from '../../lib/storage-full.ts';

/** A finished temporary file. */
export interface Written {
  path: string;
  /** Bytes. */
  size: number;
  /** SHA-256 in hexadecimal. */
  hash: string;
}

/** Returns a unique path for a file of an upload. */
export function temporaryPath(folder: string): string {
  return join(folder, `upload-${randomUUID()}`);
}

/**
 * Writes a new file that only this user can read, chunk by chunk. The folder is created with mode 0700 if it is
 * missing. Rejects with `storage_full`, or like the chunks; a part of the file may remain then.
 */
export async function writeTemporary(path: string, pieces: AsyncIterable<Uint8Array>): Promise<Written> {
  let size = 0;
  const hash = createHash('sha256');
  const file = await create(path);
  try {
    for await (const piece of pieces) {
      hash.update(piece);
      size += await append(file, piece);
    }
  } finally {
    await file.close();
  }
  return { path, size, hash: hash.digest('hex') };
}

async function create(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return open(path, 'wx', 0o600);
  }
}

async function append(file: FileHandle, piece: Uint8Array): Promise<number> {
  try {
    let written = 0;
    while (written < piece.byteLength) written += (await file.write(piece, written)).bytesWritten;
    return written;
  } catch (cause) {
    throw storageFull(cause, 'There is no space left for the upload.');
  }
}
