import { expect, test } from 'bun:test';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { createLastToken } from '../../adapters/sqlite/fences.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { elapsedSince, isGoodUntil, plannedFor, SKEW_MS } from '../../src/lib/stored-time.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

const NOW = 1_700_000_000_000;

test('a time in the future is infinitely long ago, unless clocks may differ by so much', () => {
  expect(elapsedSince(NOW - 5, NOW)).toBe(5);
  expect(elapsedSince(NOW + SKEW_MS, NOW)).toBe(0);
  for (const wrong of [NOW + SKEW_MS + 1, null]) expect(elapsedSince(wrong, NOW)).toBe(Infinity);
  expect(elapsedSince(NOW + 1, NOW, 0)).toBe(Infinity);
});

test('what is planned for later than ever is planned for now', () => {
  expect(plannedFor(NOW + 10, NOW, 10)).toBe(NOW + 10);
  expect(plannedFor(NOW + 11 + SKEW_MS, NOW, 10)).toBe(NOW);
});

test('nothing is good for longer than it can have been issued for', () => {
  const good = [0, 1, 10, 10 + SKEW_MS, 11 + SKEW_MS].map((left) => isGoodUntil(NOW + left, NOW, 10));
  expect(good).toEqual([false, true, true, true, false]);
});

test('the tokens of a database count on from the largest that it has seen, of any clock', async () => {
  const database = await memoryDatabase();
  const state = createSqliteState(database);
  // Older versions took tokens from the clock, which was in the year 2027.
  await state.setFenced('job', 'of an older version', 1_804_000_000_000_000);
  const tokens: number[] = [];
  for (let restart = 0; restart < 2; restart++) {
    const locks = createLocalLocks(createLastToken(database));
    const lease = await locks.acquire('job', 1000);
    tokens.push(lease?.token ?? 0);
    expect(await state.setFenced('job', 'of this version', lease?.token ?? 0)).toBe(true);
  }
  expect(tokens).toEqual([1_804_000_000_000_001, 1_804_000_000_000_002]);
});
