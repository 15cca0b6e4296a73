import { expect, setDefaultTimeout, test } from 'bun:test';
import { openStores } from '../../adapters/open.ts';
import { openRedis, type RedisConnection } from '../../adapters/redis/connection.ts';
import { createLimiterAlone, createRedisRateLimiter } from '../../adapters/redis/rate-limiter.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { freePort } from '../support/free-port.ts';
import { shared } from '../support/shared.ts';
import { PATIENT_MS, withPrefix } from '../support/stores/redis.ts';
import { sharedRedis } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

const server = shared(sharedRedis);

/** Copies of the server that share a Redis and a clock, which is turned, and how often they have asked. */
async function openCopies(count: number) {
  const url = withPrefix(server.url);
  const connections = await Promise.all(Array.from({ length: count }, () => openRedis(url, PATIENT_MS)));
  const shared = { now: 1_700_000_000_000, asked: 0 };
  const counted = (connection: RedisConnection): RedisConnection => ({
    ...connection,
    run(...what) {
      shared.asked++;
      return connection.run(...what);
    },
  });
  const now = () => shared.now;
  return {
    shared,
    copies: connections.map((connection) => createRedisRateLimiter(counted(connection), now)),
    close: () => Promise.all(connections.map((connection) => connection.close())),
  };
}

test('all copies together allow at most the bucket and a twentieth of it per copy', async () => {
  const { shared, copies, close } = await openCopies(2);
  const bucket = { capacity: 400, perSecond: 40 };
  const startedAt = shared.now;
  let passed = 0;
  // Busy, away until the bucket is full again, and busy again.
  for (let round = 0; round < 3; round++) {
    for (let turn = 0; turn < 300; turn++) {
      const limiter = copies[turn % 7 < 3 ? 0 : 1];
      const verdict = await limiter?.take('client', bucket);
      if (verdict?.allowed) passed++;
      shared.now += 20;
      const gained = (bucket.perSecond * (shared.now - startedAt)) / 1000;
      expect(passed).toBeLessThanOrEqual(bucket.capacity + gained + 2 * (bucket.capacity / 20));
    }
    const burst = passed;
    shared.now += 60_000;
    const verdicts = await Promise.all(
      Array.from({ length: 1000 }, (_, place) => copies[place % 2]?.take('client', bucket)),
    );
    passed += verdicts.filter((verdict) => verdict?.allowed).length;
    expect(passed - burst).toBeLessThanOrEqual(bucket.capacity + 2 * (bucket.capacity / 20));
    expect(passed - burst).toBeGreaterThanOrEqual(bucket.capacity - 2 * (bucket.capacity / 20));
    shared.now += 60_000;
  }
  await close();
});

test('a busy client waits for Redis once in some fifty requests, and not at all while it is refused', async () => {
  const { shared, copies, close } = await openCopies(1);
  const bucket = { capacity: 2000, perSecond: 0.001 };
  for (let turn = 0; turn < 1500; turn++) {
    expect((await copies[0]?.take('client', bucket))?.allowed).toBe(true);
    shared.now += 1;
  }
  expect(shared.asked).toBeLessThan(1500 / 50);
  while ((await copies[0]?.take('client', bucket))?.allowed) shared.now += 1;
  const { asked } = shared;
  for (let turn = 0; turn < 100; turn++)
    expect(copies[0]?.take('client', bucket)).not.toBeInstanceOf(Promise);
  expect(shared.asked).toBe(asked);
  await close();
});

test('a client that asks for less than the refill is never refused, at any copy', async () => {
  const { shared, copies, close } = await openCopies(2);
  const bucket = { capacity: 120, perSecond: 2 };
  while ((await copies[0]?.take('client', bucket))?.allowed);
  shared.now += 10_000;
  for (let turn = 0; turn < 60; turn++) {
    for (const place of [0, 0, 1]) {
      expect((await copies[place]?.take('client', bucket))?.allowed, `turn ${turn}`).toBe(true);
    }
    shared.now += 1700;
  }
  await close();
});

test('limiters share their buckets, and connect on first use', async () => {
  const url = withPrefix(server.url);
  const copies = [createLimiterAlone(url), createLimiterAlone(url)];
  const bucket = { capacity: 10, perSecond: 1 / 3600 };
  const verdicts: (boolean | undefined)[] = [];
  for (const copy of [0, 1, 0]) verdicts.push((await copies[copy]?.take('client', bucket, 4))?.allowed);
  expect(verdicts).toEqual([true, true, false]);
  await Promise.all(copies.map((copy) => copy.close()));
});

test('while the server that LIMITS_URL names is away, each copy counts alone', async () => {
  const limitsUrl = `redis://127.0.0.1:${await freePort()}`;
  const stores = await openStores('sqlite::memory:', 'file:/nowhere', { runtime: bunRuntime, limitsUrl });
  const bucket = { capacity: 10, perSecond: 1 / 3600 };
  const verdicts: boolean[] = [];
  for (const cost of [4, 4, 4]) verdicts.push((await stores.limiter.take('client', bucket, cost)).allowed);
  expect(verdicts).toEqual([true, true, false]);
  await stores.close();
});
