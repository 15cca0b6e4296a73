import type { ProxyRecord } from '../proxy.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** How long a proxy with no other history is expected to keep working. */
const TYPICAL_UP_MS = 20 * MINUTE_MS;
/**
 * The prior for a proxy that was never seen working: as if it had come up 0.2 times in 4.4 hours. The low
 * count says that proxies differ widely: a day without success makes the next success six times less likely.
 */
const PRIOR_UPS = 0.2;
const PRIOR_DOWN_MS = 4.4 * HOUR_MS;
/** A proven proxy that fails is checked again after this time, because most such failures are brief. */
const SECOND_LOOK_MS = 2 * MINUTE_MS;
const PROVEN_UPTIME = 0.5;
export const SOONEST_MS = 2 * MINUTE_MS;
const LATEST_ALIVE_MS = HOUR_MS;
const LATEST_DEAD_MS = 24 * HOUR_MS;
/** Waits vary by this share, so that proxies found together do not stay together. */
const SPREAD = 0.2;

/** The fields of a record that decide its next check. */
export type Scheduled = Pick<
  ProxyRecord,
  'status' | 'run' | 'runSince' | 'lastChecked' | 'lastAlive' | 'firstSeen' | 'uptime' | 'uptimeWeight'
>;

/**
 * Returns when to check next, for a record whose last check ended at `lastChecked`.
 *
 * The model: a proxy works for a while and fails for a while, both without memory, at rates estimated from its own
 * history. Being listed while it fails, or not listed while it works, costs its duration; a check costs
 * `checkCostMs`, at which the checks of an hour fit the budget, see `price.ts`.
 *
 * - Alive, failing after u on average: checking every t costs checkCostMs/t + t/(2u) per unit of time, which is least
 * at t = sqrt(2 * checkCostMs * u).
 * - Dead, returning after d on average and then working for u: a check after t succeeds with probability p * (1 -
 * e^-x), p = u/(u+d), x = t * (1/u + 1/d), and wins u. The net gain per unit of time is greatest where 1 - e^-x *
 * (1+x) = y, y = checkCostMs/(u*p). For small y that is x = sqrt(2y); from y = 1 on no check is worth its price.
 * Because no proxy is certainly hopeless, x = sqrt(2y) + 0.6y is used, which follows the optimum and stays finite.
 *
 * @param random 0 to 1; spreads the checks.
 */
export function nextCheckAt(record: Scheduled, checkCostMs: number, random: number): number {
  return Math.round(record.lastChecked + waitMs(record, checkCostMs) * (1 + SPREAD * (random - 0.5)));
}

/** Returns how long to wait between two checks of a record: `nextCheckAt` without its random spread. */
export function waitMs(record: Scheduled, checkCostMs: number): number {
  if (record.status !== 'alive') return deadWait(record, checkCostMs);
  return between(SOONEST_MS, Math.sqrt(2 * checkCostMs * meanUpMs(record)), LATEST_ALIVE_MS);
}

function deadWait(record: Scheduled, checkCostMs: number): number {
  const upMs = meanUpMs(record);
  const watchedMs = record.uptimeWeight * 24 * HOUR_MS;
  const ups = (record.uptime * watchedMs) / upMs;
  const silentMs = record.lastChecked - (record.lastAlive ?? record.firstSeen);
  const downMs = (Math.max((1 - record.uptime) * watchedMs, silentMs) + PRIOR_DOWN_MS) / (ups + PRIOR_UPS);
  const y = (checkCostMs * (upMs + downMs)) / (upMs * upMs);
  const x = Math.sqrt(2 * y) + 0.6 * y;
  const waitMs = between(SOONEST_MS, x / (1 / upMs + 1 / downMs), LATEST_DEAD_MS);
  const justFailed = record.run === -1 && record.uptime >= PROVEN_UPTIME;
  return justFailed ? Math.min(waitMs, SECOND_LOOK_MS) : waitMs;
}

/** How long a pass over entries that were never seen working and are not in the pool may take; see `discovery/`. */
const PASS_MS = { least: 4 * HOUR_MS, most: LATEST_DEAD_MS } as const;

/**
 * Returns how long one pass should take: until a proxy that has not worked for a day would be worth another check.
 */
export function passMs(checkCostMs: number): number {
  const hopeless: Scheduled = {
    status: 'dead',
    run: -10,
    runSince: 0,
    lastChecked: LATEST_DEAD_MS,
    lastAlive: null,
    firstSeen: 0,
    uptime: 0,
    uptimeWeight: 0,
  };
  return between(PASS_MS.least, deadWait(hopeless, checkCostMs), PASS_MS.most);
}

/**
 * Returns how long the proxy is expected to work once it works: at least as long as in the current run, and
 * long if it is up most of the time.
 */
function meanUpMs({ status, uptime, uptimeWeight, runSince, lastChecked }: Scheduled): number {
  const runMs = status === 'alive' ? lastChecked - runSince : 0;
  return TYPICAL_UP_MS + Math.max(runMs, uptime * uptime * uptime * uptimeWeight * 24 * HOUR_MS);
}

function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/** The price of a check in ms of a wrong entry: its first value, until the pool was sampled, and its bounds. */
export const CHECK_COST_MS = { first: 20_000, least: 500, most: 20 * MINUTE_MS } as const;
