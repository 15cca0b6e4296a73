import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storing } from '../../lib/storage-full.ts';

const FULL = 'There is no space left for the upload.';

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
 * missing. Rejects with `storage_full` or `unavailable`, or like the chunks; a part of the file may remain then.
 */
export async function writeTemporary(path: string, pieces: AsyncIterable<Uint8Array>): Promise<Written> {
  let size = 0;
  const hash = createHash('sha256');
  const file = await storing(create(path), FULL);
  try {
    for await (const piece of pieces) {
      hash.update(piece);
      size += await storing(append(file, piece), FULL);
    }
  } finally {
    await file.close();
  }
  return { path, size, hash: hash.digest('hex') };
}

async function create(path: string): Promise<FileHandle> {
  const made = () => open(path, 'wx', 0o600);
  return made().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return made();
  });
}

async function append(file: FileHandle, piece: Uint8Array): Promise<number> {
  let written = 0;
  while (written < piece.byteLength) written += (await file.write(piece, written)).bytesWritten;
  return written;
}
