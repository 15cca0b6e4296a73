import type { JudgeState } from './check/checker.ts';
import type { Condition } from './condition.ts';
import type { RefreshJob } from './refresh/progress.ts';
import type { SourceHealth } from './sources/health.ts';
import type { Source } from './sources/source.ts';

/** A list and what is known of it. */
export interface SourceStatus {
  source: Source;
  health: SourceHealth;
}

/** How the pool is doing. */
export interface PoolStatus {
  condition: Condition;
  /** When a refresh went well last; ms since 1970. */
  lastRefresh: number | null;
  /** When the next one begins on its own; in the past where it is about to, or runs. */
  nextRefresh: number;
  refresh: RefreshJob;
  judges: JudgeState;
}
