import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../lib/logger.ts';
import { ownerOfKey } from '../blob-keys.ts';
import type { BlobInfo, BlobStore, ImageStore } from '../store.ts';

/** Far longer than an upload takes from its file to its record, in ms. */
const MIN_AGE_MS = 3_600_000;

export interface SweepOptions {
  images: Pick<ImageStore, 'existing' | 'summary'>;
  blobs: Pick<BlobStore, 'list' | 'remove'>;
  /** Folder for temporary files. */
  folder: string;
  now: () => number;
  log: Log;
}

export interface SweepReport {
  /** Files without a record that were removed, and their bytes. */
  removed: number;
  freedBytes: number;
  /** Records whose file is missing, as far as numbers that change meanwhile can tell. */
  missing: number;
}

/**
 * Removes what a crash has left: files without a record, and temporary files, both after an hour. Files that
 * are not ours are left alone. Records without a file are only reported: a store that is empty by mistake must not
 * empty the other one. May be stopped anywhere and run again.
 */
export async function sweep(options: SweepOptions, signal: AbortSignal): Promise<SweepReport> {
  const { images, blobs, folder, now, log } = options;
  const before = now() - MIN_AGE_MS;
  const report: SweepReport = { removed: 0, freedBytes: 0, missing: 0 };
  const { images: records } = await images.summary();
  let originals = 0;
  for await (const batch of blobs.list()) {
    if (signal.aborted) return report;
    const owned = batch.flatMap((blob) => {
      const owner = ownerOfKey(blob.key);
      return owner ? [{ ...owner, blob }] : [];
    });
    const existing = await images.existing([...new Set(owned.map(({ id }) => id))]);
    originals += owned.filter(({ id, original }) => original && existing.has(id)).length;
    for (const { id, blob } of owned) {
      if (!existing.has(id) && blob.modified < before) await remove(blob);
    }
  }
  await removeLeftovers(folder, before);
  report.missing = Math.max(0, records - originals);
  if (report.missing > 0) log('warn', 'records without a file', { count: report.missing });
  return report;

  async function remove({ key, size }: BlobInfo): Promise<void> {
    await blobs.remove(key);
    report.removed++;
    report.freedBytes += size;
  }
}

async function removeLeftovers(folder: string, before: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found && found.mtimeMs < before) await rm(path, { recursive: true, force: true });
  }
}
