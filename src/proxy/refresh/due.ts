import type { RefreshJob } from './progress.ts';

export interface DueOptions {
  /** When this process started. */
  startedAt: number;
  intervalMs: number;
  /** Refresh at the start, unless the last refresh is more recent than the interval. */
  onStart: boolean;
}

/** Returns when the next refresh is due, given the last one of any copy of the server. */
export function nextRefreshAt(
  { state, startedAt: begunAt, finishedAt, retryAt, jitter }: RefreshJob,
  { startedAt, intervalMs, onStart }: DueOptions,
): number {
  const first = onStart ? startedAt : startedAt + intervalMs;
  const usual = begunAt === null ? first : begunAt + intervalMs * (1 + jitter);
  const next = state === 'failed' ? (retryAt ?? 0) : usual;
  // If a refresh ended after the start, in any copy, the next one follows it at the usual interval.
  const isFree = onStart || (finishedAt ?? 0) > startedAt;
  return Math.max(next, isFree ? 0 : first);
}
