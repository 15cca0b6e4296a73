import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import type { Locks } from '../../lib/locks.ts';
import type { Log } from '../../lib/logger.ts';
import { ownerOfKey } from '../blob-keys.ts';
import type { BlobInfo, BlobStore, ImageStore } from '../store.ts';
import { CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS } from './cleanup.ts';
import type { Doubts } from './doubts.ts';

/** Far longer than an upload takes from its file to its record, in ms. */
const MIN_AGE_MS = 3_600_000;

export interface SweepOptions {
  images: Pick<ImageStore, 'existing' | 'summary'>;
  blobs: Pick<BlobStore, 'list' | 'remove'>;
  locks: Locks;
  doubts: Pick<Doubts, 'look'>;
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
  /** Bytes of smaller versions. */
  versionBytes: number;
  /** False where it was stopped, or stopped itself because of a doubt. */
  complete: boolean;
}

/**
 * Removes what a crash has left: files without a record, and temporary files, both after an hour. Files that
 * are not ours are left alone. Records without a file are only reported: a store that is empty by mistake must not
 * empty the other one, and so nothing is removed while there is a doubt. May be stopped anywhere and run again. Rejects
 * with `conflict` while another copy of the server cleans up.
 */
export async function sweep(options: SweepOptions, signal: AbortSignal): Promise<SweepReport> {
  const lease = await options.locks.acquire(CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS);
  if (!lease) throw new AppError('conflict', 'A clean-up is running already.');
  try {
    return await sweepAlone(options, AbortSignal.any([signal, lease.lost]));
  } finally {
    await lease.release();
  }
}

async function sweepAlone(options: SweepOptions, signal: AbortSignal): Promise<SweepReport> {
  const { images, blobs, doubts, folder, now, log } = options;
  const before = now() - MIN_AGE_MS;
  const report: SweepReport = { removed: 0, freedBytes: 0, missing: 0, versionBytes: 0, complete: false };
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
    for (const { id, original, blob } of owned) {
      if (!original && existing.has(id)) report.versionBytes += blob.size;
    }
    const strays = owned.filter(({ id, blob }) => !existing.has(id) && blob.modified < before);
    // At the last moment: whatever emptied the records may have done so since.
    if (strays.length > 0 && (await doubts.look()).length > 0) return report;
    for (const { blob } of strays) {
      if (signal.aborted) return report;
      await remove(blob);
    }
  }
  report.complete = true;
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
