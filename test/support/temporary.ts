import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs the work with a fresh folder, which is removed afterwards. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-test-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The same with the path that the file of a database has in it. */
export const withFile = <T>(work: (path: string, folder: string) => Promise<T>) =>
  withFolder((folder) => work(join(folder, 'picpool.db'), folder));
