import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, inEnglish } from '../../errors.ts';
import type { Lease, Locks } from '../../lib/locks.ts';
import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS } from './cleanup.ts';
import type { Doubts } from './doubts.ts';
import { advanceEpoch, EPOCH_BLOB } from './epoch.ts';
import { carryOut, STRAYS, type SweepReport } from './quarantine.ts';
import { mostUnasked, type Survey, survey } from './survey.ts';

/** Far longer than the time between an upload's file and its record, in ms. */
const MIN_AGE_MS = 3_600_000;

export interface SweepOptions {
  images: ImageStore;
  blobs: BlobStore;
  state: StateStore;
  locks: Locks;
  doubts: Pick<Doubts, 'look'>;
  /** Files that went to quarantine before this time, in ms since 1970, are removed. */
  straysBefore: number;
  /** Rejects with `forbidden` for the SHA-256 of a file that must not be kept. */
  mayStore?: ((hash: string) => Promise<void>) | undefined;
  /** Folder for temporary files. */
  folder: string;
  now: () => number;
  log: Log;
  /** True if the operator has approved what the sweep would do. */
  confirmed?: boolean;
}

/**
 * Removes what a crash has left. Files without a record go to quarantine after an hour, and are removed when their
 * time there is over. Files of deleted images are removed at once, temporary files after an hour. Files that are not
 * ours are left alone, and records without a file only counted: a store that is empty by mistake must not empty the
 * other one. Nothing is moved or removed while there is a doubt, or if it is more than `mostUnasked` and not
 * confirmed. May be stopped anywhere and run again. Rejects with `conflict` while another copy of the server cleans
 * up.
 */
export async function sweep(options: SweepOptions, signal: AbortSignal): Promise<SweepReport> {
  const lease = await options.locks.acquire(CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS);
  if (!lease)
    throw new AppError('conflict', inEnglish('A cleanup is already running.'), { retryAfterMs: 1000 });
  try {
    return await sweepAlone(options, lease, AbortSignal.any([signal, lease.lost]));
  } finally {
    await lease.release();
  }
}

async function sweepAlone(options: SweepOptions, lease: Lease, signal: AbortSignal): Promise<SweepReport> {
  const { images, blobs, state, doubts, mayStore, log, folder } = options;
  const report: SweepReport = {
    removed: 0,
    freedBytes: 0,
    quarantined: 0,
    quarantinedBytes: 0,
    restored: 0,
    missing: 0,
    versionBytes: 0,
    unconfirmed: 0,
    complete: false,
    token: lease.token,
  };
  if ((await doubts.look()).length > 0 || !(await advanceEpoch(options, folder))) return report;
  const before = (await present(options)) - MIN_AGE_MS;
  const { images: records } = await images.summary();
  const found = await survey(options, before, signal);
  if (signal.aborted) return report;
  report.versionBytes = found.versionBytes;
  report.missing = Math.max(0, records - found.originals);
  if (report.missing > 0) log('warn', 'records without a file', { count: report.missing });
  report.unconfirmed = unconfirmed(options, found);
  if (report.unconfirmed > 0) {
    log('error', 'too many files without a record: inspect them with picpool sweep', {
      files: report.unconfirmed,
      of: found.files,
    });
  }
  const isDone = await carryOut(found, { images, blobs, doubts, mayStore, log, signal, report });
  const left = { bytes: found.quarantined.bytes + report.quarantinedBytes };
  await state.setFenced(STRAYS, JSON.stringify(left), lease.token);
  if (!isDone) return report;
  report.complete = true;
  // A smaller version may have been in progress when its image was deleted.
  if (found.whole) await images.dropTombstones(MIN_AGE_MS);
  await removeLeftovers(folder, { now: before + MIN_AGE_MS });
  return report;
}

function unconfirmed({ confirmed }: SweepOptions, { strays, files, whole }: Survey): number {
  if (confirmed || (whole && strays.length <= mostUnasked(files))) return 0;
  return strays.length;
}

/**
 * Returns the time, or that of the files' clock if it is behind ours: an upload in progress must not look an hour old.
 */
async function present({ blobs, now }: SweepOptions): Promise<number> {
  const mark = await blobs.stat(EPOCH_BLOB);
  return Math.min(now(), mark?.modified ?? 0);
}

/**
 * The names of all temporary files: with a UUID, or, for what an upload is converted to, with the ID of its image. Others are
 * not ours: the data folder may be somebody's home.
 */
const OWN_NAME =
  /^(([a-z]+-)+[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.db(-[a-z]+)?)?|[0-9a-f-]{36}\.(in|out)|[0-9A-Za-z]{12}\.out)$/;

/** Removes temporary files and folders that nobody has changed for an hour, if their names begin with the prefix. */
export async function removeLeftovers(
  folder: string,
  { now, prefix = '' }: { now: number; prefix?: string },
): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = name.startsWith(prefix) && OWN_NAME.test(name) ? await stat(path).catch(() => null) : null;
    if (found && found.mtimeMs < now - MIN_AGE_MS)
      await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
