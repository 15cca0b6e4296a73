import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { type OpenOptions, openStores, type Stores } from '../../adapters/open.ts';
import { FILE_SCHEMES } from '../../adapters/registry.ts';
import { url } from '../config-values.ts';
import { ownerOfKey } from '../image/records/blob-keys.ts';
import { heldKey, readReviews } from '../image/review/reviews.ts';
import type { BlobInfo, BlobStore } from '../image/store.ts';
import { digest, hashOf } from './copy-images.ts';
import { CommandError, usageError } from './exit.ts';

/** Key of a backup's records among the files: when it began, and the beginning of their SHA-256. */
const RECORDS = /^records\/(\d{8}T\d{6}Z)-([0-9a-f]{16})\.db$/;
const HASH_LENGTH = 16;
/** A younger file may belong to a backup that still runs. */
const PRUNE_AGE_MS = 86_400_000;

/** One backup: a database of its records. The files are shared by all backups at that place. */
export interface Backup {
  key: string;
  /** `20260201T080500Z`. */
  name: string;
  hash: string;
}

/**
 * Returns the URL of a place for backups, which may be given as a path.
 * @throws {CommandError} if it is neither.
 */
export function placeOf(text: string): string {
  try {
    return url(undefined, FILE_SCHEMES, '').decode(/^\w+:/.test(text) ? text : `file:${text}`);
  } catch (error) {
    throw usageError(`The place of the backups ${(error as Error).message}, or a folder.`);
  }
}

/** Returns all files by key. */
export async function filesIn(blobs: Pick<BlobStore, 'list'>): Promise<Map<string, BlobInfo>> {
  const files = new Map<string, BlobInfo>();
  for await (const some of blobs.list()) for (const file of some) files.set(file.key, file);
  return files;
}

/** Returns the backups among the files, the newest first. */
export function backupsIn(keys: Iterable<string>): Backup[] {
  return [...keys]
    .sort()
    .reverse()
    .flatMap((key) => {
      const [, name, hash] = RECORDS.exec(key) ?? [];
      return name === undefined || hash === undefined ? [] : { key, name, hash };
    });
}

/**
 * Stores the closed database at `path`, which is moved, as the records of a backup that began at that time.
 * @throws {CommandError} if it cannot be read back unchanged.
 */
export async function storeBackup(blobs: BlobStore, path: string, began: Date): Promise<Backup> {
  const name = began.toISOString().replace(/[-:]|\.\d+/g, '');
  const whole = await digest(createReadStream(path));
  const hash = whole.slice(0, HASH_LENGTH);
  const key = `records/${name}-${hash}.db`;
  await blobs.put(key, path, 'application/vnd.sqlite3');
  if ((await hashOf(blobs, key)) === whole) return { key, name, hash };
  await blobs.remove(key);
  throw new CommandError('The records of the backup cannot be read back unchanged.');
}

/**
 * Opens a copy of a backup's records in the folder, with the files of all backups at the place.
 * @throws {CommandError} if the records are damaged.
 */
export async function openBackup(
  place: { url: string; blobs: BlobStore },
  { key, name, hash }: Backup,
  { folder, ...options }: OpenOptions & { folder: string },
): Promise<Stores> {
  const path = join(folder, `${name}.db`);
  const found = await hashOf(place.blobs, key, path);
  if (found.startsWith(hash)) return openStores(`sqlite:${path}`, place.url, options);
  throw new CommandError(`The records of the backup ${name} are damaged. Restore another one with --at.`);
}

/**
 * Removes all backups but the newest `keep`, and then the files that none of those needs. Returns how many of both.
 * `files`: what is there; `open`: opens a copy of a backup's records.
 */
export async function prune(
  blobs: BlobStore,
  files: ReadonlyMap<string, BlobInfo>,
  { keep, now, open }: { keep: number; now: number; open: (backup: Backup) => Promise<Stores> },
): Promise<{ backups: number; files: number }> {
  const backups = backupsIn(files.keys());
  const old = backups.slice(keep);
  if (old.length === 0) return { backups: 0, files: 0 };
  for (const { key } of old) await blobs.remove(key);
  const unneeded = new Map<string, string>();
  for (const { key, modified } of files.values()) {
    const owner = ownerOfKey(key.replace(/^review\//, ''));
    if (owner !== null && modified < now - PRUNE_AGE_MS) unneeded.set(key, owner.id);
  }
  for (const backup of backups.slice(0, keep)) {
    if (unneeded.size === 0) break;
    const { images, state, close } = await open(backup);
    const needed = await images.existing([...new Set(unneeded.values())]);
    const held = new Set((await readReviews(state)).map(heldKey));
    for (const [key, id] of unneeded) if (needed.has(id) || held.has(key)) unneeded.delete(key);
    await close();
  }
  for (const key of unneeded.keys()) await blobs.remove(key);
  return { backups: old.length, files: unneeded.size };
}
