import { AppError } from '../../errors.ts';
import type { Lease, Locks } from '../../lib/locks.ts';
import { NO_JOB, type RefreshJob } from './progress.ts';
import type { Scope } from './round.ts';
import { createRun, LAST_KEY, LOCK, type RunOptions } from './run.ts';

export interface RefreshOptions extends RunOptions {
  locks: Locks;
  newId: () => string;
}

/** Brings the pool up to date: fetch, verify, store, clean up. One refresh runs in the whole fleet. */
export interface Refresh {
  /** Starts a refresh, or joins the running one; returns its state. */
  start(scope: Scope): Promise<RefreshJob>;
  /** The refresh that runs, or else the last one. A job whose process died is found out and shown as failed. */
  current(): Promise<RefreshJob>;
  /** When the last refresh that went well ended, or `null`. */
  lastFinished(): Promise<number | null>;
  /** Stops the refresh of this process, if there is one. */
  stop(): Promise<void>;
}

/** The next refresh begins this long, and one turn of the timer, after the one whose process died. */
const LEASE_MS = 10_000;
/** A running job is saved every two seconds; one that was not for this long may have died. */
const SILENT_MS = 6_000;
/** The time between two refreshes varies by this share. */
const JITTER = 0.1;

export function createRefresh(options: RefreshOptions): Refresh {
  const { state, locks, progress, clock, random, newId, sources } = options;
  const stopping = new AbortController();
  const { run, settle } = createRun(options, stopping.signal);
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
