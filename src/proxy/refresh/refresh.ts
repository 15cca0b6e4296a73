import { AppError } from '../../errors.ts';
import type { Lease, Locks } from '../../lib/locks.ts';
import type { StateStore } from '../../lib/state.ts';
import type { ProxyStore } from '../store.ts';
import { type JobError, NO_JOB, type Progress, type RefreshJob, type Stage } from './progress.ts';
import { type Recorder, rightOf } from './recorder.ts';
import { RefreshFault, type Round, type RoundOptions, type Scope } from './round.ts';
import { openSourceBook } from './source-health.ts';
import { goThroughStages } from './stages.ts';

export interface RefreshOptions extends Omit<RoundOptions, 'store' | 'recorder'> {
  store: ProxyStore;
  recorder: Recorder;
  state: StateStore;
  locks: Locks;
  progress: Progress;
  newId: () => string;
  observers?: readonly RefreshObserver[] | undefined;
}

/** Hears of the refreshes of this process. */
export interface RefreshObserver {
  stageEnded?(stage: Stage, ms: number): void;
  ended?(job: RefreshJob): void;
  /** Called for each refresh in one copy only: the one that ran it, or else the one that found out that it broke off. */
  settled?(job: RefreshJob): void;
}

/** Brings the pool up to date: fetch, verify, store, clean up. One refresh runs in the whole fleet. */
export interface Refresh {
  /** Starts a refresh, or joins the one that runs; answers it as it stands. */
  start(scope: Scope): Promise<RefreshJob>;
  /** The refresh that runs, or else the last one. A job whose process died is found out and shown as failed. */
  current(): Promise<RefreshJob>;
  /** When the last refresh that went well ended, or `null`. */
  lastFinished(): Promise<number | null>;
  /** Stops the refresh of this process, if there is one. */
  stop(): Promise<void>;
}

const LOCK = 'refresh';
/** The next refresh begins this long, and one turn of the timer, after the one whose process died. */
const LEASE_MS = 10_000;
/** A running job is saved every two seconds; one that was not for this long may have died. */
const SILENT_MS = 6_000;
/** The time between two refreshes varies by this share. */
const JITTER = 0.1;
const LAST_KEY = 'proxy:last-refresh';

export function createRefresh(options: RefreshOptions): Refresh {
  const {
    state,
    locks,
    progress,
    clock,
    random,
    log,
    newId,
    sources,
    refreshIntervalMs,
    observers = [],
  } = options;
  const stopping = new AbortController();
  let work: Promise<void> = Promise.resolve();
  let starting: Promise<RefreshJob> | null = null;

  async function begin(scope: Scope): Promise<RefreshJob> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const running = progress.running();
      if (running) return running;
      const lease = await locks.acquire(LOCK, LEASE_MS);
      if (lease) return launch(lease, scope);
      const saved = await progress.saved();
      if (saved.state === 'running') return saved;
      // Another copy has the lock, but its job is not saved yet, or it only looks whether a job has died.
      await clock.sleep(100);
    }
    throw new AppError('unavailable', 'Another refresh is just starting or ending.', { retryAfterMs: 1000 });
  }

  async function launch(lease: Lease, scope: Scope): Promise<RefreshJob> {
    const { failures } = await progress.saved();
    const job: RefreshJob = {
      ...NO_JOB,
      failures,
      id: newId(),
      state: 'running',
      stage: 'fetch',
      jitter: JITTER * (random() - 0.5),
      startedAt: clock.now(),
      sources: sources.map(({ name }) => ({ name, ...NOT_READ })),
    };
    await progress.begin(job, lease.token);
    work = run(job, lease, scope);
    return job;
  }

  async function run(job: RefreshJob, lease: Lease, scope: Scope): Promise<void> {
    const signal = AbortSignal.any([stopping.signal, lease.lost]);
    log('info', 'refresh started', { job: job.id });
    let error: JobError | null = null;
    try {
      const book = await openSourceBook(state, lease.token);
      const right = rightOf(LOCK, lease);
      const round: Round = { job, book, scope, right, signal, listsAway: false };
      await goThroughStages(options, round, inStage);
    } catch (cause) {
      error = stopping.signal.aborted ? 'stopped' : lease.lost.aborted ? 'interrupted' : codeOf(cause);
      if (error === 'internal') log('error', 'refresh failed', { job: job.id, error: cause });
    }
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
    log(error ? 'warn' : 'info', 'refresh ended', {
      job: id,
      error,
      fetched,
      candidates,
      checked,
      alive,
      skipped,
      removed,
    });
    for (const observer of observers) observer.ended?.(job);
    await settle(job);
    await lease.release().catch((cause) => log('warn', 'lease not released', { cause }));
  }

  async function settle(job: RefreshJob): Promise<void> {
    if (!(await progress.end())) return;
    for (const observer of observers) observer.settled?.(job);
  }

  async function inStage<T>(job: RefreshJob, stage: Stage, work: () => Promise<T>): Promise<T> {
    job.stage = stage;
    const startedAt = clock.now();
    try {
      return await work();
    } finally {
      for (const observer of observers) observer.stageEnded?.(stage, clock.now() - startedAt);
    }
  }

  return {
    start(scope) {
      // Two calls at the same time must not race for the lock: the loser would see the job before.
      starting ??= begin(scope).finally(() => {
        starting = null;
      });
      return starting;
    },

    async current() {
      const running = progress.running();
      if (running) return running;
      const saved = await progress.saved();
      if (saved.state !== 'running' || clock.now() - saved.updatedAt < SILENT_MS) return saved;
      const lease = await locks.acquire(LOCK, LEASE_MS);
      if (!lease) return saved;
      try {
        // Meanwhile another copy may have done the same.
        const latest = await progress.saved();
        const isSame = latest.id === saved.id && latest.updatedAt === saved.updatedAt;
        return isSame ? await markInterrupted(latest, lease.token) : latest;
      } finally {
        await lease.release();
      }
    },

    async lastFinished() {
      const text = await state.get(LAST_KEY);
      return text === null ? null : Number(text);
    },

    async stop() {
      stopping.abort();
      await starting?.catch(() => {});
      await work;
    },
  };

  /** Ends the job of a process that died. */
  async function markInterrupted(job: RefreshJob, token: number): Promise<RefreshJob> {
    const finishedAt = job.updatedAt;
    const dead: RefreshJob = {
      ...job,
      state: 'failed',
      error: 'interrupted',
      finishedAt,
      retryAt: finishedAt,
    };
    await progress.begin(dead, token);
    await settle(dead);
    return dead;
  }
}

function codeOf(cause: unknown): JobError {
  if (cause instanceof RefreshFault) return cause.code;
  return cause instanceof AppError && cause.code === 'unavailable' ? 'interrupted' : 'internal';
}

const MINUTE_MS = 60_000;
const RETRIES_MS = [MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS] as const;

/**
 * How long to wait after a failed refresh. Where a judge answers and only the lists are away, it is not our network
 * alone: from the fourth time on they are asked half as often each time.
 */
function retryDelayMs({ failures, judge }: RefreshJob, error: JobError, intervalMs: number): number {
  if (error === 'stopped' || error === 'interrupted') return 0;
  const last = RETRIES_MS.length - 1;
  const delayMs = RETRIES_MS[Math.min(failures - 1, last)] ?? MINUTE_MS;
  const slower = judge === 'up' ? 2 ** Math.min(10, Math.max(0, failures - 1 - last)) : 1;
  return Math.min(intervalMs, delayMs * slower);
}

const NOT_READ = {
  state: 'waiting',
  found: 0,
  fresh: 0,
  checked: 0,
  alive: 0,
  error: null,
  yield: null,
  pausedUntil: null,
} as const;
