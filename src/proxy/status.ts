import type { JudgeState } from './check/checker.ts';
import type { Condition } from './condition.ts';
import type { RefreshJob } from './refresh/progress.ts';
import type { SourceHealth } from './sources/health.ts';
import type { Source } from './sources/source.ts';

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
