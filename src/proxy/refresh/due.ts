import type { RefreshJob } from './progress.ts';

export interface DueOptions {
  /** When this process began. */
  startedAt: number;
  intervalMs: number;
  /** Refresh at the start, unless the last refresh is more recent than the interval. */
  onStart: boolean;
}

/** When the next refresh is due, after the last one of whatever copy of the server. */
export function nextRefreshAt(
  { state, startedAt: begunAt, finishedAt, retryAt, jitter }: RefreshJob,
  { startedAt, intervalMs, onStart }: DueOptions,
): number {
  const first = onStart ? startedAt : startedAt + intervalMs;
  const usual = begunAt === null ? first : begunAt + intervalMs * (1 + jitter);
  const next = state === 'failed' ? (retryAt ?? 0) : usual;
  // One that ended since the start, in whatever copy, is followed in its time.
  const isFree = onStart || (finishedAt ?? 0) > startedAt;
  return Math.max(next, isFree ? 0 : first);
}
