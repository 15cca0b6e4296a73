import { mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { adapterOf } from '../../adapters/registry.ts';
import type { Config } from '../config.ts';
import type { Log } from '../lib/logger.ts';
import { closeDataFolder } from '../lib/private-files.ts';

const TEMPORARY = 'tmp';

/** Returns the folder for files that only live as long as the process or an upload. */
export function temporaryFolder({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string {
  return join(resolve(DATA_DIR), TEMPORARY);
}

/** Creates the data folder if necessary, and makes it private to its owner. */
export async function openDataFolder(
  { DATA_DIR, METADATA_URL, BLOBS_URL }: Pick<Config, 'DATA_DIR' | 'METADATA_URL' | 'BLOBS_URL'>,
  log: Log,
): Promise<void> {
  await mkdir(DATA_DIR, { recursive: true, mode: 0o700 });
  const stores = [METADATA_URL, BLOBS_URL]
    .map((url) => adapterOf(url).path(url))
    .filter((path) => path !== null && dirname(path) === resolve(DATA_DIR))
    .map((path) => basename(path ?? ''));
  // `native` is where the binary keeps libraries that can only be loaded from files.
  const names = [TEMPORARY, 'work', 'native', 'images', 'picpool.db', ...stores];
  const refused = closeDataFolder({
    path: await realpath(DATA_DIR),
    // SQLite keeps files beside the database: picpool.db-wal, picpool.db-shm.
    isOwn: (entry) => names.some((name) => entry === name || entry.startsWith(`${name}-`)),
  });
  if (refused.length > 0) {
    log('warn', 'other users can read the data: the mode cannot be changed', { paths: refused.slice(0, 10) });
  }
}

/** Returns the folders of stores that are files of this machine. */
export function localFolders({
  METADATA_URL,
  BLOBS_URL,
}: Pick<Config, 'METADATA_URL' | 'BLOBS_URL'>): string[] {
  const [database, images] = [METADATA_URL, BLOBS_URL].map((url) => adapterOf(url).path(url));
  return [images, database && dirname(database)].filter((one) => typeof one === 'string');
}
