import { AppError } from '../../errors.ts';
import type { Lease } from '../../lib/locks.ts';
import type { StateStore } from '../../lib/state.ts';
import { createQueue } from '../discovery/queue.ts';
import { NO_SOURCE } from '../discovery/rows.ts';
import type { TrialsContext } from '../discovery/trials.ts';
import { fetchLists } from './fetch.ts';
import type { JobError, Progress, RefreshJob, Stage } from './progress.ts';
import { rightOf } from './recorder.ts';
import { RefreshFault, type Round, type RoundOptions, type Scope } from './round.ts';
import { openSourceBook } from './source-health.ts';
import { noteYields, verify } from './verify.ts';

export interface RunOptions extends RoundOptions {
  state: StateStore;
  progress: Progress;
  observers?: readonly RefreshObserver[] | undefined;
}

/** Observes the refreshes of this process. */
export interface RefreshObserver {
  stageEnded?(stage: Stage, ms: number): void;
  ended?(job: RefreshJob): void;
  /** Called for each refresh in one copy only: the one that ran it, or the one that found it interrupted. */
  settled?(job: RefreshJob): void;
}

export const LOCK = 'refresh';
/** Key in the state store: when the last successful refresh ended. */
export const LAST_KEY = 'proxy:last-refresh';

/** Runs a refresh to its end. */
export function createRun(options: RunOptions, stopping: AbortSignal) {
  const { state, progress, clock, log, refreshIntervalMs, observers = [] } = options;

  async function inStage<T>(job: RefreshJob, stage: Stage, work: () => Promise<T>): Promise<T> {
    job.stage = stage;
    const startedAt = clock.now();
    try {
      return await work();
    } finally {
      for (const observer of observers) observer.stageEnded?.(stage, clock.now() - startedAt);
    }
  }

  /** Returns the error, or `null`. */
  async function attempt(job: RefreshJob, lease: Lease, scope: Scope): Promise<JobError | null> {
    const signal = AbortSignal.any([stopping, lease.lost]);
    try {
      const book = await openSourceBook(state, lease.token);
      const right = rightOf(LOCK, lease);
      const round: Round = { job, book, scope, right, signal, fault: null };
      await goThroughStages(options, round, inStage);
      return null;
    } catch (cause) {
      const error = stopping.aborted ? 'stopped' : lease.lost.aborted ? 'interrupted' : codeOf(cause);
      if (error === 'internal') log('error', 'refresh failed', { job: job.id, error: cause });
      return error;
    }
  }

  async function settle(job: RefreshJob): Promise<void> {
    if (!(await progress.end())) return;
    for (const observer of observers) observer.settled?.(job);
  }

  return {
    /** Publishes the job as it ended. Notifies the observers if no other copy does. */
    settle,
    /** Goes through the stages, records the result, and releases the lease. Never rejects. */
    async run(job: RefreshJob, lease: Lease, scope: Scope): Promise<void> {
      log('info', 'refresh started', { job: job.id });
      const error = await attempt(job, lease, scope);
      job.state = error ? 'failed' : 'done';
      job.error = error;
      job.finishedAt = clock.now();
      job.failures = error ? job.failures + 1 : 0;
      job.retryAt = error && job.finishedAt + retryDelayMs(job, error, refreshIntervalMs);
      if (!error) {
        await state
          .setFenced(LAST_KEY, String(job.finishedAt), lease.token)
          .catch((cause) => log('warn', 'time of refresh not saved', { cause }));
      }
      const { id, fetched, candidates, checked, alive, skipped, removed } = job;
      const numbers = { fetched, candidates, checked, alive, skipped, removed };
      log(error ? 'warn' : 'info', 'refresh ended', { job: id, error, ...numbers });
      for (const observer of observers) observer.ended?.(job);
      await settle(job);
      await lease.release().catch((cause) => log('warn', 'lease not released', { cause }));
    },
  };
}

function codeOf(cause: unknown): JobError {
  if (cause instanceof RefreshFault) return cause.code;
  return cause instanceof AppError && cause.code === 'unavailable' ? 'interrupted' : 'internal';
}

const MINUTE_MS = 60_000;
const RETRIES_MS = [MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS] as const;

/**
 * Returns how long to wait after a failed refresh. If a judge answers and only the lists are unreachable, the
 * network is not the only cause: from the fourth failure on, each wait is twice as long.
 */
function retryDelayMs({ failures, judge }: RefreshJob, error: JobError, intervalMs: number): number {
  if (error === 'stopped' || error === 'interrupted') return 0;
  const last = RETRIES_MS.length - 1;
  const delayMs = RETRIES_MS[Math.min(failures - 1, last)] ?? MINUTE_MS;
  const slower = judge === 'up' ? 2 ** Math.min(10, Math.max(0, failures - 1 - last)) : 1;
  return Math.min(intervalMs, delayMs * slower);
}

type InStage = <T>(job: RefreshJob, stage: Stage, work: () => Promise<T>) => Promise<T>;

const HOUR_MS = 3_600_000;
/** Many working HTTP proxies also pass when tried with CONNECT. */
const LIKELY = 0.3;
/** Minimum capacity of a queue, however low the budget is. */
const LEAST_QUEUE = 10_000;

/**
 * Fetches, verifies, stores and cleans up. Entries for which there was no time are left to discovery between
 * refreshes.
 */
async function goThroughStages(options: RoundOptions, round: Round, inStage: InStage): Promise<void> {
  const { discovery, pass, recorder, sources, budget, refreshIntervalMs, maxPool } = options;
  const { job, book } = round;
  discovery.pause();
  await pass.catchUp();
  noteYields(options, round);
  const candidates = await inStage(job, 'fetch', () => fetchLists(options, round));
  await book.save();
  const isCrowded = candidates.pool + pass.tried + candidates.fresh.size + candidates.again.size > maxPool;
  const queue = await createQueue({
    fresh: candidates.fresh,
    again: candidates.again,
    yieldOf: (source) => (source === NO_SOURCE ? LIKELY : book.promiseOf(sources[source]?.name ?? '')),
    mayTry: (key, source) => !isCrowded || sources[source]?.logins === true || !candidates.crowd.isFull(key),
    pass,
    // The next reading may take a while, and an hour may have some checks to spare.
    most: Math.ceil((1.2 * budget.perHour * refreshIntervalMs) / HOUR_MS) + LEAST_QUEUE,
  });
  const context: TrialsContext = {
    pass,
    right: round.right,
    isCrowded,
    isKnown: candidates.isKnown,
    crowd: candidates.crowd,
  };
  try {
    await inStage(job, 'verify', () => verify(options, round, { candidates, queue, context }));
  } finally {
    await inStage(job, 'store', () => recorder.flush());
    discovery.resume({ jobId: job.id, queue, again: candidates.again.size, context });
  }
  await book.save();
  await inStage(job, 'cleanup', () => cleanUp(options, round));
}

/** Removes proxies that have been dead for too long, and those for which there is no room. */
async function cleanUp(
  { store, clock, deadRetentionMs, maxPool }: RoundOptions,
  { job, right }: Round,
): Promise<void> {
  job.removed = await store.removeDead(clock.now() - deadRetentionMs, right);
  job.removed += await store.evict(maxPool, right);
}
