import { AppError } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Locks } from '../../lib/locks.ts';
import type { Log } from '../../lib/logger.ts';
import { every, type Repetition } from '../../lib/schedule.ts';
import type { StateStore } from '../../lib/state.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import type { AccessLog } from './accesses.ts';
import type { Cleanup } from './cleanup.ts';
import type { Doubts } from './doubts.ts';
import { sweep } from './sweep.ts';

/** What a crash can lose of the last accesses, in ms. */
const FLUSH_INTERVAL_MS = 10_000;
/** How often it is looked up whether a clean-up is due, in ms: restarts must not put it off for ever. */
const MAX_POLL_MS = 60_000;
/** Those who ask for a clean-up meanwhile wait for it; what is left is done at the next look. In ms. */
const CLEANUP_BUDGET_MS = 20_000;
/** State: when the last scheduled clean-up ended, in ms since 1970. */
const LAST_RUN = 'image-cleanup-at';

export interface MaintenanceOptions {
  images: ImageStore;
  blobs: BlobStore;
  state: StateStore;
  locks: Locks;
  doubts: Doubts;
  clock: Pick<Clock, 'now'>;
  folder: string;
  limits: { cleanupIntervalMs: number };
  log: Log;
  accesses: AccessLog;
  cleanup: Cleanup;
  /** Hears how many bytes the smaller versions take. */
  onVersionBytes: (bytes: number) => Promise<void>;
}

/** Starts what the image host does by itself: writing accesses, cleaning up, sweeping. */
export function startMaintenance(options: MaintenanceOptions): Repetition {
  const { limits, log, accesses } = options;
  const fail = (cause: unknown) => {
    const elsewhere = cause instanceof AppError && cause.code === 'conflict';
    if (!elsewhere) log('error', 'clean-up failed', { cause });
  };
  const flushing = every(FLUSH_INTERVAL_MS, accesses.flush, fail);
  const cleaning = every(
    Math.min(limits.cleanupIntervalMs, MAX_POLL_MS),
    (signal) => runWhenDue(options, signal),
    fail,
  );
  return {
    async stop() {
      await Promise.all([flushing.stop(), cleaning.stop()]);
    },
  };
}

/** Cleans up and sweeps, unless any copy of the server has done so within the interval, or there is a doubt. */
export async function runWhenDue(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { state, clock, limits, log, accesses, cleanup, doubts } = options;
  const last = Number((await state.get(LAST_RUN)) ?? 0);
  if (clock.now() - last < limits.cleanupIntervalMs) return;
  const reasons = await doubts.look();
  log('debug', 'clean-up looked', { doubts: reasons.length });
  if (reasons.length > 0) return;
  await accesses.flush();
  const { removed, freedBytes, complete } = await cleanup.run(CLEANUP_BUDGET_MS, signal);
  if (!complete) return;
  const swept = await sweep({ ...options, now: () => clock.now() }, signal);
  if (!swept.complete) return;
  await options.onVersionBytes(swept.versionBytes);
  await state.set(LAST_RUN, String(clock.now()));
  log('info', 'images cleaned up', {
    removed,
    freed_bytes: freedBytes,
    stray_files: swept.removed,
    stray_bytes: swept.freedBytes,
  });
}
