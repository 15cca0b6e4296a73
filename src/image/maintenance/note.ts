import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '../store.ts';

/** Returns the line stored in a small blob, or `null` if there is no such blob. */
export async function readNote(blobs: Pick<BlobStore, 'get'>, key: string): Promise<string | null> {
  const blob = await blobs.get(key);
  return blob && (await new Response(blob).text()).trim();
}

/** Stores one line as a blob. `folder`: for a temporary file. */
export async function writeNote(
  blobs: Pick<BlobStore, 'put'>,
  folder: string,
  key: string,
  line: string,
): Promise<void> {
  const path = join(folder, `note-${randomUUID()}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(path, `${line}\n`, { mode: 0o600 });
    await blobs.put(key, path, 'text/plain');
  } finally {
    await rm(path, { force: true });
  }
}
