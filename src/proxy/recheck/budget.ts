import type { Clock } from '../../lib/clock.ts';
import { CHECK_COST_MS } from './schedule.ts';

/** How many known proxies may be checked again, and what such a check costs at the moment. One per process. */
export interface RecheckBudget {
  /** In ms of a wrong listing; the re-check loop moves it, the recorder reads it. */
  checkCostMs: number;
  /** Checks an hour. */
  readonly perHour: number;
  /** Checks that may start now; below 0 while more were made than there was room for. */
  allowance(): number;
  spend(checks: number): void;
}

/** What was not used may be made up for later, up to this time's worth. */
const BURST_MS = 60_000;
/** What was overdrawn is paid back, up to this time's worth. */
const DEBT_MS = 5 * 60_000;

export function createRecheckBudget(clock: Pick<Clock, 'now'>, perHour: number): RecheckBudget {
  const perMs = perHour / 3_600_000;
  let allowance = 0;
  let then = clock.now();
  const update = (spent: number) => {
    const now = clock.now();
    const gained = Math.min(allowance + (now - then) * perMs, Math.max(1, BURST_MS * perMs));
    allowance = Math.max(gained - spent, -DEBT_MS * perMs);
    then = now;
    return allowance;
  };
  return { checkCostMs: CHECK_COST_MS.first, perHour, allowance: () => update(0), spend: update };
}
