import { readdir, utimes } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ownerOfKey, placeOf } from '../../../src/image/records/blob-keys.ts';

const TWO_HOURS_S = 7200;

/** `keyOf` tells the key from the path below the folder. */
export function storedFiles(folder: string, keyOf: (path: string) => string = (path) => path) {
  async function paths(): Promise<string[]> {
    const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }

  async function keys(): Promise<string[]> {
    return (await paths()).map((path) => keyOf(relative(folder, path))).sort();
  }

  return {
    folder,
    /** Keys of the files of images in their places. */
    placed: async () => (await keys()).filter((key) => ownerOfKey(key) !== null),
    /** Keys of those in quarantine, as they were called before. */
    quarantined: async () =>
      (await keys()).map(placeOf).flatMap(([place, key]) => (place === 'quarantined' ? [key] : [])),
    /** Makes all files two hours old. */
    async age() {
      const then = Date.now() / 1000 - TWO_HOURS_S;
      // One may be moved meanwhile.
      for (const path of await paths()) await utimes(path, then, then).catch(() => {});
    },
  };
}

/** The files of a store as they lie on the disk: in a folder of ours, or below the S3 server. */
export type StoredFiles = ReturnType<typeof storedFiles>;
