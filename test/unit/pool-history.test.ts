import { describe, expect, test } from 'bun:test';
import { createPoolHistory } from '../../src/proxy/pool/pool-history.ts';
import { createPool, draft } from '../support/pool/pool.ts';
import { endedAfterEach } from '../support/shared.ts';

const openPool = endedAfterEach(createPool);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

async function createHistory() {
  const pool = await openPool();
  return { ...pool, history: createPoolHistory(pool) };
}

describe('the history of the pool', () => {
  test('records its size once in ten minutes, however often it is asked to', async () => {
    const { history, clock, store } = await createHistory();
    await history.note();
    await store.save([draft('http://192.0.2.1:80', clock.now())]);
    for (let minute = 0; minute < 20; minute++) {
      await clock.advance(MINUTE_MS);
      await history.note();
    }
    const samples = await history.samples();
    expect(samples.map(({ alive, total }) => [alive, total])).toEqual([
      [0, 0],
      [1, 1],
      [1, 1],
    ]);
  });

  test('is shared: a sample of one copy is not taken by another', async () => {
    const { history, clock, store, state } = await createHistory();
    const other = createPoolHistory({ store, state, clock });
    await history.note();
    await other.note();
    expect(await other.samples()).toHaveLength(1);
  });

  test('goes back two days', async () => {
    const { history, clock } = await createHistory();
    const startedAt = clock.now();
    for (let slot = 0; slot < 300; slot++) {
      await history.note();
      await clock.advance(10 * MINUTE_MS);
    }
    const samples = await history.samples();
    expect(samples.length).toBeLessThanOrEqual(288);
    expect(samples[0]?.at).toBeGreaterThan(startedAt);
    expect(clock.now() - (samples[0]?.at ?? 0)).toBeLessThan(48 * 60 * MINUTE_MS);
  });

  test('keeps one sample per hour for 30 days', async () => {
    const { history, clock } = await createHistory();
    await history.note();
    for (let hour = 0; hour < 31 * 24; hour++) {
      await clock.advance(HOUR_MS);
      await history.note();
      await history.note();
    }
    const hours = await history.hourly();
    expect(hours.length).toBe(30 * 24);
    expect(clock.now() - (hours[0]?.at ?? 0)).toBeLessThan(30 * 24 * HOUR_MS);
  });

  test('is empty before the first sample', async () => {
    const { history } = await createHistory();
    expect(await history.samples()).toEqual([]);
  });
});
