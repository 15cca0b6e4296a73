import { test } from 'bun:test';
import assert from 'node:assert/strict';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { locksConformance } from '../conformance/locks.ts';
import { rateLimiterConformance } from '../conformance/rate-limiter.ts';
import { openLocalLimiter, openLocalLocks } from '../support/stores/local.ts';

locksConformance(test, openLocalLocks);
rateLimiterConformance(test, openLocalLimiter);

test('a wait that is one millisecond too short is not enough', async () => {
  let now = 0;
  const limiter = createLocalRateLimiter({ now: () => now });
  const bucket = { capacity: 1, perSecond: 0.5 };
  await limiter.take('key', bucket);
  now = 1999;
  assert.deepEqual(await limiter.take('key', bucket), {
    allowed: false,
    remaining: 0,
    retryAfterMs: 1,
    resetMs: 1,
  });
  now = 2000;
  assert.equal((await limiter.take('key', bucket)).allowed, true);
});

test('beyond the maximum, the oldest buckets are forgotten', async () => {
  const limiter = createLocalRateLimiter({ now: () => 0, maxKeys: 100 });
  const bucket = { capacity: 1, perSecond: 0.001 };
  for (let index = 0; index < 1000; index++) await limiter.take(`key${index}`, bucket);
  assert.equal((await limiter.take('key999', bucket)).allowed, false);
  assert.equal((await limiter.take('key950', bucket)).allowed, false);
  assert.equal((await limiter.take('key0', bucket)).allowed, true);
});

test('full buckets are forgotten before any other', async () => {
  let now = 0;
  const limiter = createLocalRateLimiter({ now: () => now, maxKeys: 100 });
  const slow = { capacity: 1, perSecond: 0.001 };
  await limiter.take('kept', slow);
  for (let index = 0; index < 5000; index++) {
    await limiter.take(`key${index}`, { capacity: 1, perSecond: 10 });
    now += 2;
  }
  assert.equal((await limiter.take('kept', slow)).allowed, false);
});
