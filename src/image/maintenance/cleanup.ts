import { AppError } from '../../errors.ts';
import type { Locks } from '../../lib/locks.ts';
import type { StateStore } from '../../lib/state.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';
import type { AccessLog } from './accesses.ts';
import type { Doubts } from './doubts.ts';

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
  /** Images without a view for this long are removed. */
  retentionMs: number;
  now: () => number;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
}

/** Removes images that have not been viewed for a long time. */
export interface Cleanup {
  /**
   * Cleans up for at most `budgetMs`. A second caller in the process shares the running cleanup. Rejects with
   * `conflict` while another copy of the server runs one, and with `unavailable` while records and files may not
   * belong together. May be killed at any point and run again.
   */
  run(budgetMs: number, signal?: AbortSignal): Promise<CleanupReport>;
}

export function createCleanup({
  images,
  locks,
  doubts,
  retentionMs,
  now,
  onRemoved,
}: CleanupOptions): Cleanup {
  let running: Promise<CleanupReport> | null = null;

  async function clean(budgetMs: number, signal: AbortSignal | undefined): Promise<CleanupReport> {
    const lease = await locks.acquire(CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS);
    if (!lease) throw new AppError('conflict', 'A cleanup is already running.');
    try {
      const [doubt] = await doubts.look();
      if (doubt !== undefined) throw new AppError('unavailable', `Nothing is removed. ${doubt}`);
      const report: CleanupReport = { removed: 0, freedBytes: 0, complete: false };
      const before = now() - retentionMs;
      const deadline = now() + budgetMs;
      const fence = { name: CLEANUP_LOCK, token: lease.token };
      while (!lease.lost.aborted && !signal?.aborted && now() < deadline) {
        const idle = await images.idleSince(before, BATCH);
        if (idle.length === 0) return { ...report, complete: true };
        for (const image of idle) {
          if (lease.lost.aborted || signal?.aborted) return report;
          // It may have been viewed since it was read.
          if (!(await images.removeIdle(image.id, before, fence))) continue;
          await onRemoved(image);
          report.removed++;
          report.freedBytes += image.size;
        }
      }
      return report;
    } finally {
      await lease.release();
    }
  }

  return {
    run(budgetMs, signal) {
      running ??= clean(budgetMs, signal).finally(() => {
        running = null;
      });
      return running;
    },
  };
}

interface AskedCleanupOptions {
  cleanup: Cleanup;
  accesses: Pick<AccessLog, 'flush'>;
  state: Pick<StateStore, 'get' | 'set'>;
  now: () => number;
}

/**
 * Creates a cleanup on request. Without the administrator's token, it reports that nothing was removed if a cleanup
 * in the last ten minutes was complete, so that clients cannot keep the server busy with cleanups.
 */
export function createAskedCleanup({ cleanup, accesses, state, now }: AskedCleanupOptions) {
  return async (budgetMs: number, admin: boolean): Promise<CleanupReport> => {
    const last = Number((await state.get(LAST_ASKED)) ?? 0);
    if (!admin && Math.abs(now() - last) < REST_MS) return { removed: 0, freedBytes: 0, complete: true };
    await accesses.flush();
    const report = await cleanup.run(budgetMs);
    if (report.complete) await state.set(LAST_ASKED, String(now()));
    return report;
  };
}
