import { createReadStream } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type OpenOptions, openStores, type Stores } from '../../adapters/open.ts';
import { FILE_SCHEMES, filesAdapter } from '../../adapters/registry.ts';
import { url } from '../config-values.ts';
import { IDENTITY_BLOB, readMark } from '../image/maintenance/store-identity.ts';
import { ownerOfKey } from '../image/records/blob-keys.ts';
import { heldKey, readReviews } from '../image/review/reviews.ts';
import type { BlobInfo, BlobStore } from '../image/store.ts';
import { digest, hashOf } from './copy-images.ts';
import { CommandError, statOf, usageError } from './exit.ts';

/** Key of a backup's records among the files: about when it began, and the beginning of their SHA-256. */
const RECORDS = /^records\/(\d{8}T\d{6}Z-[0-9a-f]{16})\.db$/;
const HASH_LENGTH = 16;
/** A younger file may belong to a backup that still runs. */
const PRUNE_AGE_MS = 86_400_000;

/** One backup: a database of its records. The files are shared by all backups at that place. */
interface Backup {
  key: string;
  /** `20260201T080500Z-` and the hash, because two may begin at once. */
  name: string;
}

/**
 * Returns the URL of a place for backups, which may be given as a path.
 * @throws {CommandError} if it is neither, or no such folder exists: a disk may not be mounted.
 */
export async function placeOf(text: string): Promise<string> {
  if (text.trim() === '') throw usageError('TARGET is empty.');
  const place = decoded(text);
  const folder = filesAdapter(place).path(place);
  if (folder !== null && !(await statOf(folder))?.isDirectory()) {
    throw usageError(`There is no folder ${folder}. Mount it, or create it first.`);
  }
  return place;
}

/**
 * Rejects a place within one of the folders.
 * @throws {CommandError}
 */
export async function refuseWithin(place: string, others: readonly (string | null)[]): Promise<void> {
  const folder = filesAdapter(place).path(place);
  if (folder === null) return;
  for (const other of others) {
    const root = other === null ? null : await realpath(other).catch(() => null);
    if (root === null || /^\.\.(\/|$)/.test(relative(root, await realpath(folder)))) continue;
    throw usageError(`TARGET is within ${other}, and would be lost with it.`);
  }
}

function decoded(text: string): string {
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

/** Why the files of a server are not where `holdsBackups` finds some. */
export const NOT_FOR_A_SERVER = 'holds backups: a server there would remove what only older ones need.';

/** Reports whether the files are those of backups. */
export async function holdsBackups(blobs: Pick<BlobStore, 'list'>): Promise<boolean> {
  for await (const some of blobs.list()) if (backupsIn(some.map(({ key }) => key)).length > 0) return true;
  return false;
}

/** Returns the backups among the files, the newest first. */
export function backupsIn(keys: Iterable<string>): Backup[] {
  return [...keys]
    .sort()
    .reverse()
    .flatMap((key) => {
      const [, name] = RECORDS.exec(key) ?? [];
      return name !== undefined && Number.isFinite(timeOf(name)) ? { key, name } : [];
    });
}

/** Returns the time that a backup's name says, in ms since 1970; `NaN` if it is none. */
export function timeOf(name: string): number {
  return Date.parse(name.replace(/^(....)(..)(.....)(..)(..Z).*/, '$1-$2-$3:$4:$5'));
}

/**
 * Stores the closed database at `path`, which is moved, as the records of a backup that began at that time. Its name is
 * later than those among the files, whatever the clocks were.
 * @throws {CommandError} if it cannot be read back unchanged, or the mark beside the images is gone.
 */
export async function storeBackup(
  blobs: BlobStore,
  path: string,
  { began, files }: { began: Date; files: ReadonlyMap<string, BlobInfo> },
): Promise<Backup> {
  const [newest] = backupsIn(files.keys());
  const next = newest === undefined ? 0 : timeOf(newest.name) + 1000;
  const time = new Date(Math.max(began.getTime(), next)).toISOString().replace(/[-:]|\.\d+/g, '');
  const whole = await digest(createReadStream(path));
  const name = `${time}-${whole.slice(0, HASH_LENGTH)}`;
  const key = `records/${name}.db`;
  await blobs.put(key, path, 'application/vnd.sqlite3');
  const isThere = !files.has(IDENTITY_BLOB) || (await readMark(blobs)) !== null;
  if (isThere && (await hashOf(blobs, key)) === whole) return { key, name };
  await blobs.remove(key);
  if (!isThere) throw new CommandError('TARGET was removed, emptied or unmounted while the backup was made.');
  throw new CommandError('The records of the backup cannot be read back unchanged.');
}

/**
 * Opens a copy of a backup's records in the folder, with the files of all backups at the place. Closing removes the copy.
 * @throws {CommandError} if the records are damaged.
 */
export async function openBackup(
  place: { url: string; blobs: BlobStore },
  { key, name }: Backup,
  { folder, ...options }: OpenOptions & { folder: string },
): Promise<Stores> {
  const own = await mkdtemp(join(folder, 'backup-'));
  const remove = () => rm(own, { recursive: true, force: true });
  try {
    const path = join(own, 'records.db');
    const found = await hashOf(place.blobs, key, path);
    if (!found?.startsWith(name.slice(-HASH_LENGTH))) {
      throw new CommandError(`The records of the backup ${name} are damaged. Restore another one with --at.`);
    }
    const stores = await openStores(`sqlite:${path}`, place.url, options);
    return { ...stores, close: () => stores.close().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Removes all backups but the newest `keep` that can be opened, and then the files that none of those needs. If one
 * among them cannot be opened, it is reported, and all files stay. Returns how many of both were removed.
 * `files`: what is there; `open`: opens a copy of a backup's records.
 */
export async function prune(
  blobs: BlobStore,
  files: ReadonlyMap<string, BlobInfo>,
  { keep, now, open, warn }: PruneOptions,
): Promise<{ backups: number; files: number }> {
  const old = backupsIn(files.keys());
  if (old.length <= keep) return { backups: 0, files: 0 };
  const unneeded = new Map<string, string>();
  for (const { key, modified } of files.values()) {
    const owner = ownerOfKey(key.replace(/^review\//, ''));
    if (owner !== null && modified < now - PRUNE_AGE_MS) unneeded.set(key, owner.id);
  }
  for (let good = 0; good < keep && old.length > 0; ) {
    const [backup] = old.splice(0, 1) as [Backup];
    try {
      const { images, state, close } = await open(backup);
      const needed = await images.existing([...new Set(unneeded.values())]);
      const held = new Set((await readReviews(state)).map(heldKey));
      for (const [key, id] of unneeded) if (needed.has(id) || held.has(key)) unneeded.delete(key);
      await close();
      good++;
    } catch (error) {
      warn(`backup ${backup.name} does not count, and no image is removed: ${(error as Error).message}`);
      unneeded.clear();
    }
  }
  if (old.length === 0) return { backups: 0, files: 0 };
  for (const { key } of old) await blobs.remove(key);
  for (const key of unneeded.keys()) await blobs.remove(key);
  return { backups: old.length, files: unneeded.size };
}

interface PruneOptions {
  keep: number;
  /** In ms since 1970. */
  now: number;
  open: (backup: Backup) => Promise<Stores>;
  warn: (text: string) => void;
}
