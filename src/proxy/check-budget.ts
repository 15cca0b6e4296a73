import type { Clock } from '../lib/clock.ts';
import { CHECK_COST_MS } from './recheck/schedule.ts';

/** A part of the checks, with a rate of its own. */
export interface Lane {
  /** Checks an hour at the moment. */
  readonly perHour: number;
  /** Checks so far. */
  readonly spent: number;
  /** Checks that may start now; below 0 while more were made than there was room for. */
  allowance(): number;
  spend(checks: number): void;
}

/**
 * How many proxies may be checked, and what a check costs at the moment. One per process; `fleet-budget.ts` makes those of all
 * copies of the server one.
 */
export interface CheckBudget {
  /** In ms of a wrong listing; the recheck loop moves it, the recorder reads it. */
  checkCostMs: number;
  /** Checks an hour, all together. */
  readonly perHour: number;
  /** For proxies of the pool. */
  readonly rechecks: Lane;
  /** For what lists name besides. */
  readonly discovery: Lane;
  /** This copy of the server rechecks for all of them. */
  isRechecking: boolean;
  /** Gives discovery so much of all, four fifths at most, and the rest to the rechecks. */
  discover(perHour: number): void;
  /** Leaves so many to another copy of the server, out of the share of the rechecks. */
  leave(perHour: number): void;
}

const HOUR_MS = 3_600_000;
/** What was not used may be made up for later, up to this time's worth. */
const BURST_MS = 60_000;
/** What was overdrawn is paid back, up to this time's worth of all checks. */
const DEBT_MS = { rechecks: 5 * 60_000, discovery: HOUR_MS } as const;
/** The rest keeps what is listed true. */
const MOST_DISCOVERY = 0.8;

export function createCheckBudget(clock: Pick<Clock, 'now'>, perHour: number): CheckBudget {
  const mostDebt = (ms: number) => (perHour * ms) / HOUR_MS;
  const rechecks = createLane(clock, perHour, mostDebt(DEBT_MS.rechecks));
  const discovery = createLane(clock, 0, mostDebt(DEBT_MS.discovery));
  let left = 0;
  function share(): void {
    rechecks.perHour = Math.max((1 - MOST_DISCOVERY) * perHour, perHour - discovery.perHour - left);
  }
  return {
    checkCostMs: CHECK_COST_MS.first,
    perHour,
    rechecks,
    discovery,
    isRechecking: false,
    discover(wanted) {
      discovery.perHour = Math.min(wanted, MOST_DISCOVERY * perHour);
      share();
    },
    leave(wanted) {
      left = wanted;
      share();
    },
  };
}

function createLane(clock: Pick<Clock, 'now'>, first: number, mostDebt: number) {
  let perMs = first / HOUR_MS;
  let allowance = 0;
  let spent = 0;
  let then = clock.now();
  const update = (spending: number) => {
    const now = clock.now();
    const gained = Math.min(allowance + (now - then) * perMs, Math.max(1, BURST_MS * perMs));
    allowance = Math.max(gained - spending, -mostDebt);
    spent += spending;
    then = now;
    return allowance;
  };
  return {
    get perHour() {
      return perMs * HOUR_MS;
    },
    set perHour(value) {
      update(0);
      perMs = value / HOUR_MS;
    },
    get spent() {
      return spent;
    },
    allowance: () => update(0),
    spend: update,
  };
}
