import { statSync } from 'node:fs';
import { readdir, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobInfo, BlobStore } from '../../src/image/store.ts';
import { slices } from '../../src/lib/batches.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { orNull, translated } from './errors.ts';
import { keyOfName, PARTIAL, placeOf } from './paths.ts';
import { moveInto, publish } from './publish.ts';

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
    put: (key, path) => translated(async () => publish(path, placeOf(folder, key))),

    get: (key, range) =>
      translated(async () => {
        const { path } = placeOf(folder, key);
        // Sending the file opens it in this thread anyway, and another thread costs more than the answer.
        const found = statSync(path, { throwIfNoEntry: false });
        if (!found?.isFile()) return null;
        return orNull(fileBody(path, range?.start ?? 0, range?.end ?? found.size));
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
        return (await orNull(moveInto(path, placeOf(folder, to)).then(() => true))) ?? false;
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
