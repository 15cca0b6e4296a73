import type { JudgeState } from './check/checker.ts';
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
  lastRefresh: number | null;
  refresh: RefreshJob;
  judges: JudgeState;
}
