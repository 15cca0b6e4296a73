import { describe, expect, test } from 'bun:test';
import {
  afterChecks,
  afterRead,
  isDue,
  newHealth,
  type SourceHealth,
} from '../../src/proxy/sources/health.ts';

const HOUR = 3_600_000;
const good = { found: 500, error: null };
const bad = { found: 0, error: 'answered 404' };

/** Reads hourly, where due; answers at which hours it was read. */
function hourly(report: typeof good | typeof bad, hours: number, start = newHealth('x')) {
  let health: SourceHealth = start;
  const reads: number[] = [];
  for (let hour = 0; hour < hours; hour++) {
    if (!isDue(health, hour * HOUR)) continue;
    reads.push(hour);
    health = afterRead(health, report, hour * HOUR);
  }
  return { health, reads };
}

describe('a source that fails', () => {
  test('once is read again at the next refresh', () => {
    const health = afterRead(newHealth('x'), bad, 0);
    expect(health).toMatchObject({ failures: 1, lastError: 'answered 404', lastRead: 0 });
    expect(isDue(health, 1)).toBe(true);
  });

  test('again and again is read more and more seldom, but once a day', () => {
    expect(hourly(bad, 150).reads).toEqual([0, 1, 3, 7, 15, 31, 55, 79, 103, 127]);
  });

  test('is read at every refresh as soon as it works', () => {
    const { health } = hourly(bad, 100);
    const recovered = afterRead(health, good, 200 * HOUR, 40);
    expect(recovered).toMatchObject({ failures: 0, lastError: null, found: 500, fresh: 40 });
    expect(isDue(recovered, 200 * HOUR)).toBe(true);
  });

  test('and one that is empty are alike; one that was only too long is good', () => {
    expect(afterRead(newHealth('x'), { found: 0, error: null }, 0)).toMatchObject({
      failures: 1,
      lastError: 'nothing usable in it',
    });
    expect(afterRead(newHealth('x'), { found: 9, error: 'sent more than 20 MB' }, 0)).toMatchObject({
      failures: 0,
      lastError: 'sent more than 20 MB',
    });
  });
});

describe('the yield of a source', () => {
  test('is the share that was alive, and follows it slowly', () => {
    let health = afterChecks(newHealth('x'), { checked: 1_000, alive: 200 }, 0);
    expect(health.yield).toBeCloseTo(0.2);
    health = afterChecks(health, { checked: 1_000, alive: 100 }, 0);
    expect(health.yield).toBeCloseTo(0.18);
    expect(health).toMatchObject({ checked: 2_000, alive: 300 });
  });

  test('is not judged by a few checks', () => {
    let health = newHealth('x');
    for (let round = 0; round < 20; round++) health = afterChecks(health, { checked: 50, alive: 0 }, 0);
    expect(health).toMatchObject({ yield: null, barren: 0, checked: 1_000 });
    expect(isDue(health, 0)).toBe(true);
  });

  test('that is nothing at all pauses the source, longer each time', () => {
    let health = afterChecks(newHealth('x'), { checked: 3_000, alive: 0 }, 0);
    expect(health.skipUntil).toBe(2 * HOUR);
    // A list that can be read is still barren.
    health = afterRead(health, good, 2 * HOUR);
    expect(isDue(health, 2 * HOUR)).toBe(false);
    health = afterChecks(health, { checked: 3_000, alive: 0 }, 2 * HOUR);
    expect(health.skipUntil).toBe(6 * HOUR);
    for (let round = 0; round < 100; round++) health = afterChecks(health, { checked: 3_000, alive: 0 }, 0);
    expect(health.skipUntil).toBe(24 * HOUR);
  });

  test('that collapses pauses the source, and one live round ends the pause', () => {
    const usual = afterChecks(newHealth('x'), { checked: 1_000, alive: 200 }, 0);
    const collapsed = afterChecks(usual, { checked: 1_000, alive: 15 }, 0);
    expect(collapsed).toMatchObject({ barren: 1, skipUntil: 2 * HOUR });
    expect(afterChecks(usual, { checked: 1_000, alive: 25 }, 0)).toMatchObject({ barren: 0, skipUntil: 0 });
    expect(afterChecks(collapsed, { checked: 1_000, alive: 190 }, 0)).toMatchObject({
      barren: 0,
      skipUntil: 0,
    });
    expect(afterChecks(collapsed, { checked: 20, alive: 4 }, 0)).toMatchObject({ barren: 0, skipUntil: 0 });
  });

  test('that stays lower, but is not nothing, becomes the usual one within a day or two', () => {
    let health = afterChecks(newHealth('x'), { checked: 1_000, alive: 200 }, 0);
    let now = 0;
    while (afterChecks(health, { checked: 1_000, alive: 10 }, now).barren > 0) {
      health = afterChecks(health, { checked: 1_000, alive: 10 }, now);
      now = health.skipUntil;
    }
    expect(now).toBeWithin(4 * HOUR, 48 * HOUR);
  });
});
