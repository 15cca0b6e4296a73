import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storageFull } from '../../lib/storage-full.ts';

/** A temporary file that was written. */
export interface Written {
  path: string;
  /** Bytes. */
  size: number;
  /** SHA-256 in hexadecimal. */
  hash: string;
}

/** Where a file of an upload may be written; no two are the same. */
export function temporaryPath(folder: string): string {
  return join(folder, `upload-${randomUUID()}`);
}

/**
 * Writes a new file that this user alone can read, piece by piece; the folder is made with mode 0700 if it is missing. Rejects with
 * `storage_full`, or as the pieces do; a part of the file may be left then.
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
