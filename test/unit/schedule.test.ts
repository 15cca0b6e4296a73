import { describe, expect, test } from 'bun:test';
import { CHECK_COST_MS, nextCheckAt, type Scheduled } from '../../src/proxy/recheck/schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const now = 1_000 * HOUR;

const base: Scheduled = {
  status: 'alive',
  run: 1,
  runSince: now,
  lastChecked: now,
  lastAlive: now,
  firstSeen: now - 48 * HOUR,
  uptime: 0.1,
  uptimeWeight: 0.8,
};
/** Minutes until the next check. */
const wait = (changes: Partial<Scheduled>, checkCostMs: number = CHECK_COST_MS.first, random = 0.5) =>
  (nextCheckAt({ ...base, ...changes }, checkCostMs, random) - now) / MINUTE;

const proven = { uptime: 0.97, runSince: now - 30 * HOUR, run: 60 } as const;
const dead = { status: 'dead', run: -20 } as const;

describe('the next check', () => {
  test('of a working proxy comes within minutes if it is new, and rarely if it is proven', () => {
    expect(wait({})).toBeLessThan(5);
    expect(wait(proven)).toBeGreaterThan(20);
    expect(wait({ runSince: now - 4 * HOUR })).toBeGreaterThan(2 * wait({}));
  });

  test('of a proven proxy that has just failed comes soon', () => {
    expect(
      wait({ ...proven, status: 'dead', run: -1, runSince: now, lastAlive: now - HOUR }),
    ).toBeLessThanOrEqual(2);
  });

  test('of a dead one comes later the longer it has been dead', () => {
    const waits = [1, 6, 24, 96, 1000].map((hours) =>
      wait({
        ...dead,
        uptime: 0.01,
        lastAlive: null,
        firstSeen: now - hours * HOUR,
        uptimeWeight: Math.min(0.99, hours / 24),
      }),
    );
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(waits[4]).toBeGreaterThan(10 * (waits[0] ?? 0));
  });

  test('of a dead one that often comes back is sooner than of one that never does', () => {
    const often = wait({ ...dead, uptime: 0.1, lastAlive: now - HOUR });
    const never = wait({ ...dead, uptime: 0.003, lastAlive: null });
    expect(often).toBeLessThan(never / 3);
  });

  test('is never more than a day away, nor sooner than about two minutes', () => {
    expect(
      wait({ ...dead, uptime: 0.0001, lastAlive: null, firstSeen: 0 }, CHECK_COST_MS.most),
    ).toBeLessThanOrEqual(24 * 60 * 1.1);
    expect(wait({}, CHECK_COST_MS.least)).toBeGreaterThanOrEqual(2 * 0.9);
  });

  test('comes later when checks are expensive', () => {
    for (const record of [{}, proven, { ...dead, lastAlive: now - HOUR }]) {
      expect(wait(record, 10 * CHECK_COST_MS.first)).toBeGreaterThan(wait(record));
    }
  });

  test('is spread by a tenth to either side', () => {
    expect(wait(proven, CHECK_COST_MS.first, 0)).toBeCloseTo(0.9 * wait(proven), 3);
    expect(wait(proven, CHECK_COST_MS.first, 1)).toBeCloseTo(1.1 * wait(proven), 3);
  });

  test('of a working proxy balances the cost of checks and of wrong listings', () => {
    // sqrt(2 * cost * mean time up), with 20 minutes, 30 hours and 20 minutes, and 17.52 hours and 20 minutes.
    expect(wait({ uptime: 0 })).toBeCloseTo(3.6515, 3);
    expect(wait(proven)).toBeCloseTo(34.8329, 3);
    expect(wait({ ...proven, runSince: now })).toBeCloseTo(26.7258, 3);
  });

  test('of a dead one is when a check gains most for its cost', () => {
    // Up 110 minutes on average and down 179.69, so that y = 0.00798 and x = 0.13112.
    const often = { ...dead, uptime: 0.5, uptimeWeight: 0.5, lastAlive: now - HOUR };
    expect(wait(often)).toBeCloseTo(8.9466, 3);
    // Silent for longer than its history knows it to have been down: 110 and 1,112.67 minutes.
    expect(wait({ ...often, lastAlive: now - 60 * HOUR })).toBeCloseTo(28.0047, 3);
  });

  test('of a dead one does not depend on the length of this run of failures', () => {
    const record = { ...dead, lastAlive: now - HOUR };
    expect(wait({ ...record, runSince: now - 40 * HOUR })).toBe(wait(record));
  });

  test('comes soon after a first failure only if the proxy was up half of the time', () => {
    const failed = { status: 'dead', run: -1, uptimeWeight: 0.1, lastAlive: now - 60 * HOUR } as const;
    expect(wait({ ...failed, uptime: 0.5 })).toBe(2);
    expect(wait({ ...failed, uptime: 0.49 })).toBeGreaterThan(2);
    expect(wait({ ...failed, uptime: 0.5, run: -2 })).toBeGreaterThan(2);
  });

  test('is a finite time for records at the edge', () => {
    for (const uptime of [0, 1]) {
      for (const uptimeWeight of [0, 1]) {
        for (const status of ['alive', 'dead'] as const) {
          expect(wait({ uptime, uptimeWeight, status, lastAlive: null, firstSeen: now })).toBeFinite();
        }
      }
    }
  });
});
