import { describe, expect, test } from 'bun:test';
import { isDoubted, observe, recentChecks } from '../../src/proxy/pool/history.ts';
import { type CheckResult, PROOFS, type Proof, type ProxyRecord } from '../../src/proxy/proxy.ts';
import { failed, passed, undecided } from '../support/pool/pool.ts';
import { createRandom } from '../support/random.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const endpoint = { protocol: 'http', ip: '192.0.2.1', port: 80 } as const;
const countryOf = (address: string) => (address === '192.0.2.200' ? 'DE' : 'ZZ');

/** The record after checks `everyMs` apart, the first at 0. */
function after(results: readonly CheckResult[], everyMs: number): ProxyRecord {
  let record: ProxyRecord | null = null;
  for (const [index, result] of results.entries()) {
    const draft = observe({ endpoint, record, source: 'a' }, result, index * everyMs, countryOf);
    if (draft) record = { ...draft, id: 1 };
  }
  if (!record) throw new Error('no result was conclusive');
  return record;
}
const times = (count: number, result: CheckResult) => Array.from({ length: count }, () => result);

describe('the history of a proxy', () => {
  test('begins with its first check', () => {
    expect(after([passed], HOUR)).toMatchObject({
      status: 'alive',
      responseMs: 30,
      exitIp: '192.0.2.200',
      country: 'DE',
      error: null,
      firstSeen: 0,
      lastAlive: 0,
      checks: 1,
      successes: 1,
      run: 1,
      runSince: 0,
      uptimeWeight: 0,
    });
    expect(after([failed], HOUR)).toMatchObject({
      status: 'dead',
      error: 'timeout',
      lastAlive: null,
      run: -1,
    });
  });

  test('counts runs, and records when they began', () => {
    expect(after([passed, passed, failed, failed, failed], HOUR)).toMatchObject({
      checks: 5,
      successes: 2,
      run: -3,
      runSince: 2 * HOUR,
      lastAlive: HOUR,
    });
    expect(after([failed, failed, passed], HOUR)).toMatchObject({ run: 1, runSince: 2 * HOUR, error: null });
  });

  test('remembers the latest 30 checks, oldest first', () => {
    expect(recentChecks(after([passed], HOUR).recent)).toBe('1');
    expect(recentChecks(after([failed, passed, failed], HOUR).recent)).toBe('010');
    const random = createRandom(17);
    const results = Array.from({ length: 100 }, () => (random() < 0.5 ? passed : failed));
    const all = results.map((result) => (result === passed ? '1' : '0')).join('');
    for (let count = 1; count <= results.length; count++) {
      const { recent } = after(results.slice(0, count), HOUR);
      expect(recentChecks(recent)).toBe(all.slice(Math.max(0, count - 30), count));
      expect(recent).toBeLessThan(2 ** 31);
    }
  });

  test('keeps earlier measurements when a check fails', () => {
    expect(after([passed, failed], HOUR)).toMatchObject({
      responseMs: 30,
      anonymity: 'elite',
      exitIp: '192.0.2.200',
      country: 'DE',
    });
  });

  test('knows no report that is later than its last check, whatever the clock was when it was written', () => {
    const reports = JSON.stringify([{ at: 9 * HOUR, ok: false, target: null, error: 'page' }]);
    const record = { ...after([passed], HOUR), reports };
    const draft = observe({ endpoint, record, source: 'a' }, passed, 2 * HOUR, countryOf);
    expect([record, draft].map((one) => one && isDoubted(one))).toEqual([true, false]);
  });

  test('is not changed by an inconclusive check', () => {
    expect(observe({ endpoint, record: null, source: 'a' }, undecided, 0, countryOf)).toBeNull();
  });

  test('takes the country of an exit only if the proxy cannot have made it up', () => {
    const at = (address: string) => (address === '192.0.2.200' ? 'DE' : 'FR');
    const countryOf = (proof: Proof) =>
      observe({ endpoint, record: null, source: 'a' }, { ...passed, proof } as CheckResult, 0, at)?.country;
    expect(PROOFS.map(countryOf)).toEqual(['DE', 'DE', 'FR', 'FR']);
  });

  test('takes the country from the list only if nothing better is known', () => {
    const from = (result: CheckResult) =>
      observe({ endpoint, record: null, source: 'a', country: 'FR' }, result, 0, countryOf)?.country;
    expect([from(failed), from(passed)]).toEqual(['FR', 'DE']);
  });
});

describe('uptime', () => {
  test('starts low and grows with time, not with the number of checks', () => {
    const seldom = after(times(13, passed), 10 * MINUTE);
    const often = after(times(121, passed), MINUTE);
    expect(after([passed], HOUR).uptime).toBe(0.13);
    expect(seldom.uptime).toBeCloseTo(often.uptime, 6);
    expect(seldom.uptime).toBeGreaterThan(0.85);
  });

  test('approaches 1 for what always works, and 0 for what never does', () => {
    expect(after(times(96, passed), 30 * MINUTE).uptime).toBeGreaterThan(0.98);
    expect(after(times(96, failed), 30 * MINUTE).uptime).toBeLessThan(0.01);
  });

  test('is the share of time alive', () => {
    const halfAndHalf = Array.from({ length: 400 }, (_, index) => (index % 8 < 4 ? passed : failed));
    expect(after(halfAndHalf, 30 * MINUTE).uptime).toBeCloseTo(0.5, 1);
  });

  test('hardly changes after one failure in a long good run', () => {
    const good = times(96, passed);
    const before = after(good, 30 * MINUTE).uptime;
    expect(after([...good, failed, passed], 30 * MINUTE).uptime).toBeGreaterThan(before - 0.05);
  });

  test('forgets: what worked last week says little today', () => {
    const lately = [...times(48, passed), ...times(48 * 4, failed)];
    expect(after(lately, 30 * MINUTE).uptime).toBeLessThan(0.02);
  });

  test('credits no more than two hours between two checks', () => {
    const unwatched = after([passed, passed], 48 * HOUR);
    const watched = after([passed, passed], 2 * HOUR);
    expect(unwatched.uptimeWeight).toBeCloseTo(watched.uptimeWeight, 10);
  });

  test('stays between 0 and 1 when the clock is set back', () => {
    const record = after(times(20, passed), HOUR);
    const draft = observe({ endpoint, record, source: 'a' }, passed, record.lastChecked - HOUR, countryOf);
    expect(draft?.uptime).toBeCloseTo(record.uptime, 10);
  });
});
