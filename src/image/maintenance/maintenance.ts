import { AppError } from '../../errors.ts';
import { writeHeld } from '../../lib/locks.ts';
import { every, type Repetition } from '../../lib/schedule.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { ImageFiles } from '../records/image-files.ts';
import type { AccessLog } from './accesses.ts';
import type { Cleanup } from './cleanup.ts';
import type { Doubts } from './doubts.ts';
import { advanceEpoch } from './epoch.ts';
import { NOTE_INTERVAL_MS, type ServiceTime } from './service-time.ts';
import { survey } from './survey.ts';
import { type SweepOptions, sweep } from './sweep.ts';

/** State key: when the last scheduled cleanup ended, in ms since 1970. */
export const LAST_RUN = 'image-cleanup-at';
/** How much of the last accesses a crash can lose, in ms. */
const FLUSH_INTERVAL_MS = 10_000;
/** How often expired images are removed, in ms. */
const ENDS_INTERVAL_MS = 15_000;
/** How often the due time is checked, in ms, so that restarts do not postpone a cleanup forever. */
const MAX_POLL_MS = 60_000;
/** Maximum duration of one round in ms, because requests for a cleanup have to wait. The next round continues. */
const CLEANUP_BUDGET_MS = 20_000;

export interface MaintenanceOptions extends Omit<SweepOptions, 'straysBefore'> {
  limits: { retentionMs: number; cleanupIntervalMs: number; strayRetentionMs: number };
  doubts: Doubts;
  serviceTime: ServiceTime;
  accesses: AccessLog;
  files: Pick<ImageFiles, 'takeChanged' | 'noteChange' | 'retryRemovals'>;
  cleanup: Cleanup;
  /** Called with the total size of the smaller versions. */
  onVersionBytes: (bytes: number) => Promise<void>;
  /**
   * Called after each cleanup of this copy that was complete, but not while there are doubts. `idleBefore`: the time, ms since 1970,
   * since which the server has served for the retention.
   */
  onCleaned?: ((signal: AbortSignal, idleBefore: number) => Promise<void>) | undefined;
  /** Removes images that have expired or have no views left. */
  removeEnded: (signal: AbortSignal) => Promise<void>;
}

/** Starts the periodic tasks of the image host: writing accesses, cleaning up, sweeping. */
export function startMaintenance(options: MaintenanceOptions): Repetition {
  const { limits, log, accesses, serviceTime } = options;
  const fail = (cause: unknown) => {
    const elsewhere = cause instanceof AppError && cause.code === 'conflict';
    if (!elsewhere) log('error', 'cleanup failed', { cause });
  };
  serviceTime.note().catch(fail);
  const noting = every(NOTE_INTERVAL_MS, serviceTime.note, fail);
  const flushing = every(FLUSH_INTERVAL_MS, accesses.flush, fail);
  const cleaning = every(
    Math.min(limits.cleanupIntervalMs, MAX_POLL_MS),
    (signal) => turn(options, signal),
    fail,
  );
  const ending = every(ENDS_INTERVAL_MS, options.removeEnded, (cause) =>
    log('warn', 'expired images not removed', { cause }),
  );
  return {
    async stop() {
      await Promise.all([noting.stop(), flushing.stop(), cleaning.stop(), ending.stop()]);
    },
  };
}

/**
 * Checks for doubts, and advances the epoch if this copy has changed something. Cleans up and sweeps, unless any copy
 * of the server has done so within the interval, or there are doubts.
 */
export async function turn(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { doubts, files, log } = options;
  let reasons = await doubts.watch();
  if (reasons.length > 0 && (await healed(options, signal))) reasons = await doubts.look();
  log('debug', 'cleanup looked', { doubts: reasons.length });
  if (reasons.length > 0) return;
  await files.retryRemovals();
  const isChanged = files.takeChanged();
  let isDone = !isChanged;
  try {
    if (isChanged) isDone = await advanceEpoch(options, options.folder);
  } finally {
    if (!isDone) files.noteChange();
    // A disk that was too full for the step gets room.
    await runWhenDue(options, signal);
  }
}

async function runWhenDue(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { cleanup, state, serviceTime, limits, now, log } = options;
  const last = Number((await state.get(LAST_RUN)) ?? 0);
  if (elapsedSince(last, now()) < limits.cleanupIntervalMs || (await serviceTime.doubt()) !== null) return;
  const { removed, freedBytes, complete } = await cleanup.run(CLEANUP_BUDGET_MS, signal);
  if (!complete) return;
  await options.onCleaned?.(signal, await serviceTime.servedFor(limits.retentionMs));
  const straysBefore = await serviceTime.servedFor(limits.strayRetentionMs);
  const swept = await sweep({ ...options, straysBefore }, signal);
  if (!swept.complete) return;
  await options.onVersionBytes(swept.versionBytes);
  await writeHeld(state, LAST_RUN, now(), swept.token);
  log('info', 'images cleaned up', {
    removed,
    freed_bytes: freedBytes,
    files_removed: swept.removed,
    files_removed_bytes: swept.freedBytes,
    files_quarantined: swept.quarantined,
    files_restored: swept.restored,
  });
}

/** Repairs what can be repaired without the operator. */
async function healed(options: MaintenanceOptions, signal: AbortSignal): Promise<boolean> {
  const { doubts } = options;
  if (await doubts.mend()) return true;
  if (!(await doubts.onlyLasting())) return false;
  const all = { ...options, straysBefore: Number.NEGATIVE_INFINITY };
  const { strays, whole } = await survey(all, Number.POSITIVE_INFINITY, signal);
  if (!whole || strays.length > 0) return false;
  await doubts.settle();
  return true;
}
