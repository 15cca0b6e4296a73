import type { JudgesState } from './check/judges.ts';
import type { RefreshJob } from './refresh/progress.ts';

/** The condition of the pool in one word. If several apply, the most serious one. */
export const CONDITIONS = [
  /** The first refresh is about to begin. */
  'starting',
  /** No refresh has run, and none is due yet. */
  'waiting',
  /** The first refresh is running. */
  'filling',
  'refreshing',
  /** The last refresh succeeded recently. */
  'ready',
  /** Neither lists nor judges could be reached. */
  'network_down',
  /** None of the lists could be read, although judges answer or have answered. */
  'lists_failing',
  /** No proxy can be proven at the moment. */
  'no_judge',
  /** The last refresh failed for another reason. */
  'failed',
  /** The last refresh was too long ago. */
  'stale',
] as const;
export type Condition = (typeof CONDITIONS)[number];

/** The list is stale after this many intervals without a refresh. */
const STALE_INTERVALS = 2;

interface ConditionOptions {
  job: RefreshJob;
  judges: Pick<JudgesState, 'state'>;
  /** When a refresh last succeeded; ms since 1970. */
  lastRefresh: number | null;
  /** When the next refresh is due. */
  nextRefresh: number;
  intervalMs: number;
  now: number;
}

/** Returns the condition that follows from the facts. */
export function conditionOf(options: ConditionOptions): Condition {
  const { job, judges, lastRefresh, nextRefresh, intervalMs, now } = options;
  const failed = job.state === 'failed';
  if (failed && job.error === 'network_down') return judges.state === 'up' ? 'lists_failing' : 'network_down';
  if (judges.state === 'down' || (failed && job.error === 'judge_down')) return 'no_judge';
  if (job.state === 'running') return lastRefresh === null ? 'filling' : 'refreshing';
  if (failed) return 'failed';
  if (job.state === 'done' && noListRead(job)) return 'lists_failing';
  if (lastRefresh === null) return nextRefresh <= now ? 'starting' : 'waiting';
  return now - lastRefresh > STALE_INTERVALS * intervalMs ? 'stale' : 'ready';
}

/** A refresh can succeed for known proxies although no list could be read. */
function noListRead({ sources }: RefreshJob): boolean {
  return sources.length > 0 && sources.every(({ state }) => state === 'failed' || state === 'paused');
}
