import { AppError, inEnglish } from '../../errors.ts';
import type { Lease, Locks } from '../../lib/locks.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import { NO_JOB, type RefreshJob } from './progress.ts';
import type { Scope } from './round.ts';
import { createRun, LAST_KEY, LOCK, type RunOptions } from './run.ts';

interface RefreshOptions extends RunOptions {
  locks: Locks;
  newId: () => string;
}

/** The time between two refreshes varies by this share. */
export const JITTER = 0.1;

/** If a process dies, the next refresh begins after this time and one tick of the timer. */
const LEASE_MS = 10_000;
/** A running job is saved every two seconds. If it was not saved for this long, it may have died. */
const SILENT_MS = 6_000;

/** Brings the pool up to date: fetch, verify, store, clean up. Only one refresh runs in the whole fleet. */
export function createRefresh(options: RefreshOptions) {
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
      if (lease) {
        return launch(lease, scope).catch(async (error: unknown) => {
          await lease.release();
          throw error;
        });
      }
      const saved = await progress.saved();
      if (saved.state === 'running') return saved;
      // Another copy holds the lock, but has not saved its job yet, or is only checking whether a job has died.
      await clock.sleep(100);
    }
    throw new AppError('unavailable', inEnglish('Another refresh is just starting or ending.'), {
      retryAfterMs: 1000,
    });
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
    /** Starts a refresh, or joins the running one; returns its state. */
    start(scope: Scope): Promise<RefreshJob> {
      // Two concurrent calls must not race for the lock: the loser would see the previous job.
      starting ??= begin(scope).finally(() => {
        starting = null;
      });
      return starting;
    },

    /** Returns the running refresh, or the last one. Detects a job whose process died, and shows it as failed. */
    async current(): Promise<RefreshJob> {
      const running = progress.running();
      if (running) return running;
      const saved = await progress.saved();
      if (saved.state !== 'running' || elapsedSince(saved.updatedAt, clock.now()) < SILENT_MS) return saved;
      const lease = await locks.acquire(LOCK, LEASE_MS);
      if (!lease) return saved;
      try {
        // Another copy may have done the same meanwhile.
        const latest = await progress.saved();
        const isSame = latest.id === saved.id && latest.updatedAt === saved.updatedAt;
        return isSame ? await markInterrupted(latest, lease.token) : latest;
      } finally {
        await lease.release();
      }
    },

    /** Returns when the last successful refresh ended, or `null`. */
    async lastFinished(): Promise<number | null> {
      const text = await state.get(LAST_KEY);
      return text === null ? null : Number(text);
    },

    /** Stops the refresh of this process, if there is one. */
    async stop(): Promise<void> {
      stopping.abort();
      await starting?.catch(() => {});
      await work;
    },
  };

  /** Ends the job of a process that has died. */
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
