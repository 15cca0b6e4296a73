import type { Locks } from '../../lib/locks.ts';
import { createCheckBudget } from '../check/check-budget.ts';
import type { Checker } from '../check/checker.ts';
import { createFleetBudget } from '../check/fleet-budget.ts';
import { createDiscovery } from '../discovery/discovery.ts';
import { createPass } from '../discovery/pass.ts';
import { createTrials } from '../discovery/trials.ts';
import { createLogins } from '../pool/logins.ts';
import { runRechecks } from '../recheck/recheck.ts';
import type { ProxyStore } from '../store.ts';
import { createProgress } from './progress.ts';
import { createRecorder } from './recorder.ts';
import { createRefresh } from './refresh.ts';
import type { RunOptions } from './run.ts';

/** What a refresh takes as it is. */
type Passed =
  | 'state'
  | 'readSource'
  | 'sources'
  | 'clock'
  | 'random'
  | 'log'
  | 'refreshIntervalMs'
  | 'refreshBudgetMs';

export interface UpkeepOptions
  extends Pick<RunOptions, Passed | 'concurrency' | 'deadRetentionMs' | 'maxPool' | 'observers'> {
  store: ProxyStore;
  locks: Locks;
  checker: Checker;
  /** Returns two upper-case letters, `ZZ` if unknown. */
  countryOf: (address: string) => string;
  /** Total number of checks an hour. Default: 100,000. */
  checksPerHour?: number | undefined;
}

const CHECKS_PER_HOUR = 100_000;

export function createUpkeep(options: UpkeepOptions) {
  const { state, checker, sources, clock, random, log, concurrency } = options;
  const newId = () => `${clock.now().toString(36)}${Math.floor(random() * 36 ** 4).toString(36)}`;
  const budget = createCheckBudget(clock, options.checksPerHour ?? CHECKS_PER_HOUR);
  const recorder = createRecorder({ ...options, checkCostMs: () => budget.checkCostMs });
  const progress = createProgress({ state, clock, log });
  const logins = createLogins();
  const tryEntry = createTrials({ checker, recorder, budget, logins, sources });
  const pass = createPass(state, random, clock.now());
  const discovery = createDiscovery({
    ...{ checker, tryEntry, budget, pass, clock, log },
    // The rechecks of the same process get as many.
    concurrency: Math.ceil(concurrency / 2),
    isLatest: async (id) => (await progress.saved()).id === id,
  });
  const refresh = createRefresh({
    ...options,
    ...{ recorder, progress, budget, pass, logins, discovery, tryEntry, newId },
  });

  return {
    recorder,
    refresh,
    progress,
    /** Exchanges with other copies of the server how much of the budget each uses. */
    shareBudget: createFleetBudget({ state, budget, clock, copy: newId() }),
    /** Rechecks and discovers until the signal aborts. Resolves when running checks have ended. */
    run: (signal: AbortSignal) =>
      Promise.all([runRechecks({ ...options, recorder, budget }, signal), discovery.run(signal)]),
  };
}

/** Keeps the pool accurate with refreshes, rechecks and discovery, within one budget. */
export type Upkeep = ReturnType<typeof createUpkeep>;
