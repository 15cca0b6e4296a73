import type { Clock } from '../../lib/clock.ts';
import { CHECK_COST_MS } from '../recheck/schedule.ts';

const HOUR_MS = 3_600_000;
/** Unused checks can be made up for later, up to what this time allows. */
const BURST_MS = 60_000;
/** Overdrafts are paid back, up to what all checks amount to in this time. */
const DEBT_MS = { rechecks: 5 * 60_000, discovery: HOUR_MS } as const;
/** The rest keeps the list accurate. */
const MOST_DISCOVERY = 0.8;

export function createCheckBudget(clock: Pick<Clock, 'now'>, perHour: number) {
  const mostDebt = (ms: number) => (perHour * ms) / HOUR_MS;
  const rechecks = createLane(clock, perHour, mostDebt(DEBT_MS.rechecks));
  const discovery = createLane(clock, 0, mostDebt(DEBT_MS.discovery));
  let left = 0;
  function share(): void {
    rechecks.perHour = Math.max((1 - MOST_DISCOVERY) * perHour, perHour - discovery.perHour - left);
  }
  return {
    /** What a check costs, as ms for which a wrong entry stays listed. The recheck loop sets it, the recorder reads it. */
    checkCostMs: CHECK_COST_MS.first as number,
    /** Checks an hour in total. */
    perHour,
    /** Checks of proxies that are in the pool. */
    rechecks,
    /** Checks of candidates from lists that are not in the pool yet. */
    discovery,
    /** True if this copy of the server rechecks for all copies. */
    isRechecking: false,
    /** Gives discovery this rate, at most four fifths of the total, and the rest to rechecks. */
    discover(wanted: number): void {
      discovery.perHour = Math.min(wanted, MOST_DISCOVERY * perHour);
      share();
    },
    /** Gives this rate to another copy of the server, out of the share of rechecks. */
    leave(wanted: number): void {
      left = wanted;
      share();
    },
  };
}

/**
 * Limits how many proxies are checked, and knows what a check costs at the moment. There is one per process;
 * `fleet-budget.ts` joins those of all copies of the server into one.
 */
export type CheckBudget = ReturnType<typeof createCheckBudget>;

/** A share of the checks, with its own rate. */
function createLane(clock: Pick<Clock, 'now'>, first: number, mostDebt: number) {
  let perMs = first / HOUR_MS;
  let allowance = 0;
  let spent = 0;
  let then = clock.now();
  const update = (spending: number) => {
    const now = clock.now();
    const gained = Math.min(allowance + Math.max(0, now - then) * perMs, Math.max(1, BURST_MS * perMs));
    allowance = Math.max(gained - spending, -mostDebt);
    spent += spending;
    then = now;
    return allowance;
  };
  return {
    /** Current rate, in checks an hour. */
    get perHour() {
      return perMs * HOUR_MS;
    },
    set perHour(value) {
      update(0);
      perMs = value / HOUR_MS;
    },
    /** Number of checks so far. */
    get spent() {
      return spent;
    },
    /** Number of checks that may start now. Negative after an overdraft. */
    allowance: () => update(0),
    /** Counts checks that begin. A negative number takes back those that said nothing. */
    spend: update,
  };
}
