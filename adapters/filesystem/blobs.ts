import { createHash, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, stat, unlink, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { BlobInfo, BlobStore } from '../../src/image/store.ts';
import { slices } from '../../src/lib/batches.ts';
import { storing } from '../../src/lib/storage-full.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';

interface FolderBlobsOptions {
  /** Created when the first file is put. */
  folder: string;
  fileBody: Runtime['fileBody'];
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** Number of files that `list` examines concurrently. */
const STAT_AT_ONCE = 64;

/** An older copy belongs to a process that died. */
const PARTIAL_AGE_MS = 24 * 60 * 60 * 1000;

/** A `BlobStore` in a folder, with one file for each blob, in subfolders by a hash of the key. */
export function createFolderBlobs({ folder, fileBody, now = Date.now }: FolderBlobsOptions): BlobStore {
  /** Whether it has held a file. If the folder is gone after that, so is its disk, for which a new folder below the mount point would pass. */
  let isUsed = false;

  async function infoOf(path: string, key: string): Promise<BlobInfo | null> {
    const found = await orNull(stat(path));
    return found?.isFile() ? { key, size: found.size, modified: Math.floor(found.mtimeMs) } : null;
  }

  async function infosIn(name: string): Promise<BlobInfo[]> {
    const names = (await orNull(readdir(join(folder, name)))) ?? [];
    const infos: (BlobInfo | null)[] = [];
    for (const some of slices(names, STAT_AT_ONCE)) {
      infos.push(
        ...(await Promise.all(some.map((file) => infoOf(join(folder, name, file), keyOfName(file))))),
      );
    }
    return infos.filter((info) => info !== null);
  }

  async function removeOldPartials(): Promise<void> {
    for (const { key, modified } of await infosIn(PARTIAL)) {
      if (modified < now() - PARTIAL_AGE_MS) await orNull(unlink(join(folder, PARTIAL, key)));
    }
  }

  return {
    put: (key, path) =>
      translated(async () => {
        await publish(path, placeOf(folder, key), !isUsed);
        isUsed = true;
      }),

    get: (key, range) =>
      translated(async () => {
        const { path } = placeOf(folder, key);
        // Sending the file opens it in this thread anyway, and another thread costs more than the answer.
        const found = statSync(path, { throwIfNoEntry: false });
        if (!found?.isFile()) return null;
        isUsed = true;
        const end = Math.min(range?.end ?? found.size, found.size);
        return orNull(fileBody(path, Math.min(range?.start ?? 0, end), end));
      }),

    stat: (key) => translated(async () => infoOf(placeOf(folder, key).path, key)),

    remove: (key) =>
      translated(async () => {
        await orNull(unlink(placeOf(folder, key).path));
      }),

    move: (key, to) =>
      translated(async () => {
        const { path } = placeOf(folder, key);
        const present = now() / 1000;
        // First, so that it never looks old at its new place.
        if ((await orNull(utimes(path, present, present).then(() => true))) === null) return false;
        return (await orNull(moveInto(path, placeOf(folder, to), false).then(() => true))) ?? false;
      }),

    async *list() {
      await translated(removeOldPartials);
      const names = await translated(async () => (await orNull(readdir(folder))) ?? []);
      for (const name of names) {
        if (!/^[0-9a-f]{3}$/.test(name)) continue;
        const batch = await translated(() => infosIn(name));
        if (batch.length > 0) yield batch;
      }
    },
  };
}

/**
 * Moves a file to its place, replacing any file there, and creates the folder of all blobs only if `isNew`. When it resolves,
 * content and name are on the disk and survive a power failure. A rename is atomic only within one file system; a file from
 * another is copied first.
 */
async function publish(source: string, place: Place, isNew: boolean): Promise<void> {
  await sync(source, 'r+');
  try {
    await moveInto(source, place, isNew);
  } catch (error) {
    if (systemCode(error) !== 'EXDEV') throw error;
    await publishCopy(source, place);
    await unlink(source);
  }
  await sync(place.folder, 'r');
}

async function publishCopy(source: string, place: Place): Promise<void> {
  const partials = join(dirname(place.folder), PARTIAL);
  await makeFolder(partials, false);
  const copy = join(partials, randomUUID());
  try {
    await copyFile(source, copy);
    await sync(copy, 'r+');
    await moveInto(copy, place, false);
  } catch (error) {
    await unlink(copy).catch(() => undefined);
    throw error;
  }
}

/** Renames a file to its place, creating the folder if it is missing. */
async function moveInto(source: string, { folder, path }: Place, isNew: boolean): Promise<void> {
  try {
    await rename(source, path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    await makeFolder(folder, isNew);
    await rename(source, path);
  }
}

/**
 * Creates a folder unless it exists, with `above` also those that it is in, and syncs all that hold new ones. This process may
 * not be allowed to read the highest; Deno then says that the root was made.
 */
async function makeFolder(folder: string, above: boolean): Promise<void> {
  const making = mkdir(folder, { recursive: above, mode: 0o700 });
  const made = await making.catch((error) => {
    if (systemCode(error) !== 'EEXIST') throw error;
  });
  const [highest, holding] = [resolve(made ?? folder), dirname(resolve(folder))];
  await sync(holding, 'r');
  for (let at = holding; at.length >= highest.length && at !== dirname(at); at = dirname(at))
    await sync(dirname(at), 'r').catch(() => {});
}

async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Returns the code of a system error, such as `ENOENT`; empty for anything else. */
function systemCode(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : '';
}

/** Runs file operations. A full disk or quota becomes `storage_full`, other system errors `unavailable`. */
export function translated<T>(work: () => Promise<T>): Promise<T> {
  return storing(work(), 'The disk of the image files is full.');
}

/** Returns the result, or `null` if a file or folder does not exist. */
async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Common file systems allow 255 bytes in a file name. */
const MAX_KEY_LENGTH = 250;

/** Hexadecimal digits of a folder's name: 4,096 folders, so that each has about 250 of a million files. */
const FAN_OUT = 3;

/** A suffix that no key has. */
const PARTIAL = '.partial';

/** The path of a file in a folder chosen by a hash of its key. */
interface Place {
  folder: string;
  path: string;
}

/**
 * Returns where the blob of a key is stored. A `/` becomes `_`, which no key contains, so that `a` and `a/b` can both
 * exist.
 * @throws {RangeError} for keys that the contract does not allow, and parts that are empty or begin with a dot.
 */
export function placeOf(root: string, key: string): Place {
  const wellFormed =
    key.length <= MAX_KEY_LENGTH && /^[0-9A-Za-z-][0-9A-Za-z.-]*(\/[0-9A-Za-z-][0-9A-Za-z.-]*)*$/.test(key);
  if (!wellFormed) throw new RangeError(`${JSON.stringify(key)} cannot be the key of a file.`);
  const folder = join(root, createHash('sha256').update(key).digest('hex').slice(0, FAN_OUT));
  return { folder, path: join(folder, key.replaceAll('/', '_')) };
}

/** Returns the key of a file name. */
export function keyOfName(name: string): string {
  return name.replaceAll('_', '/');
}
