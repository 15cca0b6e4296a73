import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';

export const STAGES = ['fetch', 'verify', 'store', 'cleanup'] as const;
export type Stage = (typeof STAGES)[number];

export const JOB_STATES = ['idle', 'running', 'done', 'failed'] as const;

/** Why a refresh failed. */
export const JOB_ERRORS = [
  'network_down',
  'lists_failing',
  'judge_down',
  'interrupted',
  'stopped',
  'internal',
] as const;
export type JobError = (typeof JOB_ERRORS)[number];

export const SOURCE_STATES = ['waiting', 'reading', 'done', 'failed', 'paused'] as const;

/** The result of one list in a refresh. */
export interface SourceProgress {
  name: string;
  state: (typeof SOURCE_STATES)[number];
  /** Usable entries, duplicates included. */
  found: number;
  /** Of these, endpoints that were new: not in the pool, and not named before. */
  fresh: number;
  checked: number;
  alive: number;
  error: string | null;
  /** Share of its entries that work, over its latest refreshes; `null` until enough were checked. */
  yield: number | null;
  /** A list that fails, becomes empty or has no working entries any more is not read before this time. */
  pausedUntil: number | null;
}

/** The state of a refresh. Times are ms since 1970. */
export interface RefreshJob {
  id: string;
  state: (typeof JOB_STATES)[number];
  stage: Stage | null;
  error: JobError | null;
  /** Usable entries of all lists, duplicates included. */
  fetched: number;
  /** Proxies to check: known good ones, other listed entries, and dead ones that are due. */
  candidates: number;
  checked: number;
  alive: number;
  /** Candidates for which there was no time; they are checked later. */
  skipped: number;
  removed: number;
  judge: 'unknown' | 'up' | 'down';
  /** Failed refreshes in a row, this one included. */
  failures: number;
  /** When it is retried after a failure. */
  retryAt: number | null;
  /**
   * Share of the interval by which the next refresh begins later or earlier, so that servers that start
   * together drift apart.
   */
  jitter: number;
  startedAt: number | null;
  finishedAt: number | null;
  updatedAt: number;
  sources: SourceProgress[];
}

/** The job before the first one. */
export const NO_JOB: RefreshJob = {
  id: '',
  state: 'idle',
  stage: null,
  error: null,
  fetched: 0,
  candidates: 0,
  checked: 0,
  alive: 0,
  skipped: 0,
  removed: 0,
  judge: 'unknown',
  failures: 0,
  retryAt: null,
  jitter: 0,
  startedAt: null,
  finishedAt: null,
  updatedAt: 0,
  sources: [],
};

const KEY = 'proxy:refresh';
const TELL_EVERY_MS = 250;
const SAVE_EVERY_MS = 2000;

export function createProgress({ state, clock, log }: { state: StateStore; clock: Clock; log: Log }) {
  const listeners = new Set<(job: RefreshJob) => void>();
  let running: RefreshJob | null = null;
  let fence = 0;
  let ended = new AbortController();
  let publishing: Promise<void> = Promise.resolve();

  function tell(job: RefreshJob): void {
    for (const listener of listeners) listener(job);
  }

  async function save(job: RefreshJob): Promise<boolean> {
    job.updatedAt = clock.now();
    try {
      const saved = await state.setFenced(KEY, JSON.stringify(job), fence);
      if (!saved) log('warn', 'another copy has taken over the refresh', { job: job.id });
      return saved;
    } catch (error) {
      log('warn', 'progress not saved', { error });
      return false;
    }
  }

  async function publishWhileRunning(job: RefreshJob, signal: AbortSignal): Promise<void> {
    let savedAt = clock.now();
    while (!signal.aborted) {
      await clock.sleep(TELL_EVERY_MS, signal).catch(() => {});
      if (signal.aborted) return;
      tell(job);
      if (elapsedSince(savedAt, clock.now(), 0) < SAVE_EVERY_MS) continue;
      savedAt = clock.now();
      await save(job);
    }
  }

  return {
    /** The job that runs in this process, or `null`. */
    running: () => running,
    /** Returns the last saved job of any copy. */
    async saved(): Promise<RefreshJob> {
      const text = await state.get(KEY);
      return text === null ? NO_JOB : { ...NO_JOB, ...(JSON.parse(text) as RefreshJob) };
    },
    /**
     * Publishes a new job, and then every change of the object until the job ends. `token`: of the lease under which it
     * runs. Nothing is saved after a job with a larger token was.
     */
    async begin(job: RefreshJob, token: number): Promise<void> {
      running = job;
      fence = token;
      ended = new AbortController();
      tell(job);
      await save(job);
      publishing = publishWhileRunning(job, ended.signal);
    },
    /** Publishes the job as it ended. Returns whether that was saved, which happens in one copy for each job. */
    async end(): Promise<boolean> {
      const job = running;
      if (!job) return false;
      ended.abort();
      await publishing;
      const saved = await save(job);
      running = null;
      tell(job);
      return saved;
    },
    /** Publishes a job that runs or has ended in another copy. */
    publish: tell,
    /** Calls back at each change, at most four times a second. Returns a function that unsubscribes. */
    subscribe(listener: (job: RefreshJob) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    subscribers: () => listeners.size,
  };
}

/** Publishes a running job: to listeners in this process, and through the state store to other copies. */
export type Progress = ReturnType<typeof createProgress>;
