import { AppError, inEnglish } from '../../errors.ts';
import { type Locks, refusedHolder } from '../../lib/locks.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';
import type { AccessLog } from './accesses.ts';
import type { Doubts } from './doubts.ts';
import type { ServiceTime } from './service-time.ts';
import type { Unfinished } from './unfinished.ts';

const BATCH = 100;
/** Held by everything that removes files, so that only one copy of the server does so at a time. */
export const CLEANUP_LOCK = 'cleanup';
/** How long a copy that dies during a cleanup blocks the others, in ms. */
export const CLEANUP_LOCK_TTL_MS = 60_000;

/** After a complete cleanup, untrusted clients cannot start another one for this long. */
const REST_MS = 10 * 60_000;
/** State key: when the last such cleanup ended, in ms since 1970. */
const LAST_ASKED = 'image-cleanup-asked-at';

export interface CleanupReport {
  removed: number;
  freedBytes: number;
  /** False if time ran out first; the next cleanup continues. */
  complete: boolean;
}

interface CleanupOptions {
  images: Pick<ImageStore, 'idleSince' | 'removeIdle'>;
  locks: Locks;
  doubts: Pick<Doubts, 'look'>;
  serviceTime: Pick<ServiceTime, 'servedFor' | 'doubt'>;
  accesses: Pick<AccessLog, 'flush' | 'has'>;
  /** Images without a view for this long, while the server ran, are removed. */
  retentionMs: number;
  now: () => number;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  unfinished: Pick<Unfinished, 'during'>;
}

export function createCleanup({
  images,
  locks,
  doubts,
  serviceTime,
  accesses,
  retentionMs,
  now,
  onRemoved,
  unfinished,
}: CleanupOptions) {
  let running: Promise<CleanupReport> | null = null;

  async function clean(budgetMs: number, signal: AbortSignal | undefined): Promise<CleanupReport> {
    await demandTime(serviceTime);
    const lease = await locks.acquire(CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS);
    if (!lease) throw new AppError('conflict', inEnglish('A cleanup is already running.'));
    try {
      const [doubt] = await doubts.look();
      if (doubt !== undefined)
        throw new AppError('unavailable', inEnglish(`Nothing is removed. ${doubt.text}`));
      const report: CleanupReport = { removed: 0, freedBytes: 0, complete: false };
      const before = await serviceTime.servedFor(retentionMs);
      const deadline = now() + budgetMs;
      const fence = { name: CLEANUP_LOCK, token: lease.token };
      while (!lease.lost.aborted && !signal?.aborted && now() < deadline) {
        // What is viewed while this runs stays.
        await accesses.flush();
        const idle = await images.idleSince(before, BATCH);
        if (idle.length === 0) return { ...report, complete: true };
        const removable = idle.filter(({ id }) => !accesses.has(id));
        // Their accesses cannot be written now.
        if (removable.length === 0) return report;
        await unfinished.during('removal', removable, async (done) => {
          for (const image of removable) {
            if (lease.lost.aborted || signal?.aborted) return;
            // It may have been viewed since it was read.
            if (!accesses.has(image.id) && (await images.removeIdle(image.id, before, fence))) {
              await onRemoved(image);
              report.removed++;
              report.freedBytes += image.size;
            }
            done(image);
          }
        });
      }
      return report;
    } catch (cause) {
      const isConflict = cause instanceof AppError && cause.code === 'conflict';
      throw isConflict && !lease.lost.aborted ? refusedHolder(cause) : cause;
    } finally {
      await lease.release();
    }
  }

  return {
    /**
     * Cleans up for at most `budgetMs`. A second caller in the process shares the running cleanup. Rejects with
     * `conflict` while another copy of the server runs one, or while the time is in doubt, and with `unavailable` while
     * records and files may not belong together. May be killed at any point and run again.
     */
    run(budgetMs: number, signal?: AbortSignal): Promise<CleanupReport> {
      running ??= clean(budgetMs, signal).finally(() => {
        running = null;
      });
      return running;
    },
  };
}

/** Removes images that have not been viewed for a long time. */
export type Cleanup = ReturnType<typeof createCleanup>;

/** Rejects with `conflict` while the time is in doubt: images may seem idle that are not. */
async function demandTime(serviceTime: Pick<ServiceTime, 'doubt'>): Promise<void> {
  const doubt = await serviceTime.doubt();
  if (doubt === null) return;
  const details = [{ field: 'confirm', message: inEnglish('must be true to say that the clock is right') }];
  throw new AppError('conflict', inEnglish(doubt), { details });
}

interface AskedCleanupOptions {
  cleanup: Cleanup;
  serviceTime: Pick<ServiceTime, 'doubt' | 'settle'>;
  state: Pick<StateStore, 'get' | 'set'>;
  now: () => number;
}

/**
 * Creates a cleanup on request. Without the administrator's token, it reports that nothing was removed if a cleanup
 * in the last ten minutes was complete, so that clients cannot keep the server busy with cleanups. `confirm`: the
 * caller says that the clock is right.
 */
export function createAskedCleanup({ cleanup, serviceTime, state, now }: AskedCleanupOptions) {
  return async (budgetMs: number, admin: boolean, confirm = false): Promise<CleanupReport> => {
    if (confirm) await serviceTime.settle();
    else await demandTime(serviceTime);
    const last = Number((await state.get(LAST_ASKED)) ?? 0);
    if (!admin && elapsedSince(last, now()) < REST_MS) return { removed: 0, freedBytes: 0, complete: true };
    const report = await cleanup.run(budgetMs);
    if (report.complete) await state.set(LAST_ASKED, String(now()));
    return report;
  };
}
