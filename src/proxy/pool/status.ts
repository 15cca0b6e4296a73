import type { JudgeState } from '../check/checker.ts';
import type { JudgesState } from '../check/judges.ts';
import type { RefreshJob } from '../refresh/progress.ts';
import type { SourceHealth } from '../sources/health.ts';
import type { Source } from '../sources/source.ts';

/** A list and its health. */
export interface SourceStatus {
  source: Source;
  health: SourceHealth;
}

/** The state of the pool. */
export interface PoolStatus {
  condition: Condition;
  /** When a refresh last succeeded; ms since 1970. */
  lastRefresh: number | null;
  /** When the next refresh starts on its own; in the past if it is about to start or running. */
  nextRefresh: number;
  refresh: RefreshJob;
  judges: JudgeState;
}

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
type Condition = (typeof CONDITIONS)[number];

/** The list is stale after this many intervals without a refresh. */
const STALE_INTERVALS = 2;

interface ConditionOptions {
  job: RefreshJob;
  judges: Pick<JudgesState, 'state'>;
  /** When a refresh last succeeded; ms since 1970. */
  lastRefresh: number | null;
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
  if (failed) return job.error === 'lists_failing' ? 'lists_failing' : 'failed';
  if (lastRefresh === null) return nextRefresh <= now ? 'starting' : 'waiting';
  // If it is in the future, the clock was ahead, and the next one comes within an interval all the same.
  return now - lastRefresh > STALE_INTERVALS * intervalMs ? 'stale' : 'ready';
}
