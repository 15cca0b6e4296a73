import { every, type Repetition } from '../../lib/schedule.ts';
import { plannedFor } from '../../lib/stored-time.ts';
import type { RefreshJob } from './progress.ts';
import { JITTER } from './refresh.ts';
import type { Upkeep } from './upkeep.ts';

/** How often to check whether a refresh is due, or its process has died. */
const MOST_TICK_MS = 5_000;

interface DueOptions {
  startedAt: number;
  intervalMs: number;
  /** Refresh at the start, unless the last refresh is more recent than the interval. */
  onStart: boolean;
}

/**
 * Returns when the next refresh is due, given the last one of any copy of the server: never later than one interval
 * from now, whatever a clock that was ahead has written down.
 */
export function nextRefreshAt(
  { state, startedAt: begunAt, finishedAt, retryAt, jitter }: RefreshJob,
  { startedAt, intervalMs, onStart }: DueOptions,
  now: number,
): number {
  const first = onStart ? startedAt : startedAt + intervalMs;
  const usual = begunAt === null ? first : begunAt + intervalMs * (1 + jitter);
  const next = state === 'failed' ? (retryAt ?? 0) : usual;
  // If a refresh ended after the start, in any copy, the next one follows it at the usual interval.
  const isFree = onStart || (finishedAt ?? 0) > startedAt;
  return plannedFor(Math.max(next, isFree ? 0 : first), now, intervalMs * (1 + JITTER / 2));
}

/**
 * Lets a process that looks on judge by its own watch how long ago a refresh ended: the clock of the copy that wrote the times down
 * may be hours off, and two copies with such clocks would refresh in turn without end. Returns whether enough time has passed since it
 * saw the job for the first time; true for the one that it finds at its start. `elapsedMs`: of a clock that is never set, but stands still
 * while the machine sleeps. By `now`, its own time, it sees that.
 */
export function createPatience(intervalMs: number) {
  let seen: { id: string; at: number; time: number } | null = null;
  type Seen = Pick<RefreshJob, 'id' | 'startedAt' | 'finishedAt' | 'retryAt'>;
  return ({ id, startedAt, finishedAt, retryAt }: Seen, elapsedMs: number, now: number): boolean => {
    if (id !== seen?.id) seen = { id, at: seen === null ? Number.NEGATIVE_INFINITY : elapsedMs, time: now };
    // Both by the clock of one copy, so that their difference is right.
    const next = retryAt ?? (startedAt ?? 0) + intervalMs * (1 - JITTER / 2);
    const waitedMs = Math.max(elapsedMs - seen.at, now - seen.time);
    return waitedMs >= Math.min(intervalMs, next - (finishedAt ?? next));
  };
}

type Task = (signal?: AbortSignal) => Promise<void>;

interface TimersOptions {
  upkeep: Pick<Upkeep, 'refresh' | 'progress' | 'shareBudget'>;
  due: DueOptions;
  now: () => number;
  /** More tasks, with their intervals in ms. */
  others: readonly (readonly [everyMs: number, task: Task])[];
  onError: (error: unknown) => void;
}

/** Creates the timers for everything periodic. */
export function createTimers({ upkeep, due, now, others, onError }: TimersOptions) {
  const { refresh, progress, shareBudget } = upkeep;
  let followed = { id: '', updatedAt: 0 };
  let repetitions: Repetition[] = [];
  let first: Promise<unknown> = Promise.resolve();

  const hasWaited = createPatience(due.intervalMs);
  const nextRefresh = (job: RefreshJob) => nextRefreshAt(job, due, now());

  async function refreshWhenDue(): Promise<void> {
    const job = await refresh.current();
    if (job.state === 'running') return;
    const isOver = hasWaited(job, performance.now(), now());
    if (isOver && now() >= nextRefresh(job)) await refresh.start({ all: false });
  }

  /** A refresh in another copy shows by what it saves. */
  async function followOthers(): Promise<void> {
    if (progress.subscribers() === 0 || progress.running()) return;
    const job = await refresh.current();
    if (job.id === followed.id && job.updatedAt === followed.updatedAt) return;
    followed = job;
    progress.publish(job);
  }

  return {
    nextRefresh,
    start() {
      const tickMs = Math.min(MOST_TICK_MS, Math.max(250, due.intervalMs / 60));
      // Without this, the first run of slow tasks would be late.
      const slow = others.filter(([everyMs]) => everyMs >= 60_000).map(([, task]) => task);
      refreshWhenDue().catch(onError);
      first = Promise.all(slow.map((task) => task().catch(onError)));
      const own: [number, Task][] = [
        [tickMs, refreshWhenDue],
        [1000, followOthers],
        [1000, shareBudget],
      ];
      repetitions = [...own, ...others].map(([everyMs, task]) => every(everyMs, task, onError));
    },
    async stop() {
      await Promise.all([first, ...repetitions.map((repetition) => repetition.stop())]);
    },
  };
}
