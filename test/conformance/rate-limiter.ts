import assert from 'node:assert/strict';
import type { RateLimiter } from '../../src/lib/rate-limiter.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';

/** A limiter, and how to let time pass for it: a clock that is turned, or a real wait. */
export interface TimedLimiter {
  limiter: RateLimiter;
  advance(ms: number): Promise<void>;
}

/** So slow that nothing is gained while a test runs. */
const SLOW = 1 / 3600;

/** Every promise of `RateLimiter`. Holds on a real clock too: what is asserted does not change within an hour or so. */
export function rateLimiterConformance(runner: Test, open: Open<TimedLimiter>): void {
  const test = storeTest(runner, open);

  test('an unused bucket is full', async ({ limiter }) => {
    const verdict = await limiter.take('key', { capacity: 5, perSecond: SLOW });
    assert.equal(verdict.allowed, true);
    assert.equal(verdict.remaining, 4);
    assert.equal(verdict.retryAfterMs, 0);
  });

  test('exactly the capacity is allowed', async ({ limiter }) => {
    const bucket = { capacity: 3, perSecond: SLOW };
    const verdicts = [];
    for (let turn = 0; turn < 5; turn++) verdicts.push(await limiter.take('key', bucket));
    assert.deepEqual(
      verdicts.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
      ],
    );
  });

  test('of many simultaneous requests as many are allowed as there are tokens', async ({ limiter }) => {
    const bucket = { capacity: 10, perSecond: SLOW };
    const verdicts = await Promise.all(Array.from({ length: 30 }, () => limiter.take('key', bucket)));
    assert.equal(verdicts.filter(({ allowed }) => allowed).length, 10);
  });

  test('a busy client learns with each token how many are left', async ({ limiter }) => {
    const bucket = { capacity: 200, perSecond: SLOW };
    for (let left = 199; left >= 0; left--) {
      const { allowed, remaining } = await limiter.take('key', bucket);
      assert.deepEqual([allowed, remaining], [true, left]);
    }
    for (let turn = 0; turn < 3; turn++) {
      assert.equal((await limiter.take('key', bucket)).allowed, false);
    }
    await limiter.take('key', bucket, -2);
    const given = [1, 2, 3].map(async () => (await limiter.take('key', bucket)).allowed);
    assert.deepEqual(await Promise.all(given), [true, true, false]);
  });

  test('each key has its own bucket', async ({ limiter }) => {
    const bucket = { capacity: 1, perSecond: SLOW };
    for (const key of ['a', 'A', 'a:b', '2001:db8::1', 'ä', '']) {
      assert.equal((await limiter.take(key, bucket)).allowed, true, key);
      assert.equal((await limiter.take(key, bucket)).allowed, false, key);
    }
  });

  test('a negative cost gives tokens back, never above the capacity', async ({ limiter }) => {
    const bucket = { capacity: 5, perSecond: SLOW };
    await limiter.take('key', bucket, 5);
    const given = await limiter.take('key', bucket, -2);
    assert.deepEqual([given.allowed, given.remaining, given.retryAfterMs], [true, 2, 0]);
    assert.equal((await limiter.take('key', bucket, -50)).remaining, 5);
    assert.equal((await limiter.take('never used', bucket, -1)).remaining, 5);
    assert.equal((await limiter.take('key', bucket, 6)).allowed, false);
  });

  test('a cost is taken completely or not at all', async ({ limiter }) => {
    const bucket = { capacity: 5, perSecond: SLOW };
    assert.equal((await limiter.take('key', bucket, 3)).remaining, 2);
    const refused = await limiter.take('key', bucket, 3);
    assert.deepEqual([refused.allowed, refused.remaining], [false, 2]);
    assert.equal((await limiter.take('key', bucket, 2)).allowed, true);
  });

  test('a cost above the capacity is never allowed and takes nothing', async ({ limiter }) => {
    const bucket = { capacity: 2, perSecond: SLOW };
    const refused = await limiter.take('key', bucket, 3);
    assert.deepEqual([refused.allowed, refused.remaining], [false, 2]);
    assert.equal((await limiter.take('key', bucket, 2)).allowed, true);
  });

  test('a client that waits as long as told is allowed', async ({ limiter, advance }) => {
    // So slow that what comes back between two calls on a busy machine is not enough.
    const bucket = { capacity: 2, perSecond: 1 };
    await limiter.take('key', bucket, 2);
    const refused = await limiter.take('key', bucket, 2);
    assert.equal(refused.allowed, false);
    assert.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= 2000, `${refused.retryAfterMs} ms`);
    await advance(refused.retryAfterMs);
    assert.equal((await limiter.take('key', bucket, 2)).allowed, true);
  });

  test('after the reset time the bucket is exactly full', async ({ limiter, advance }) => {
    const bucket = { capacity: 3, perSecond: 3 };
    const { resetMs } = await limiter.take('key', bucket, 3);
    assert.ok(resetMs > 0 && resetMs <= 1000, `${resetMs} ms`);
    await advance(resetMs * 2);
    const full = await limiter.take('key', bucket, 3);
    assert.deepEqual([full.allowed, full.remaining], [true, 0]);
  });
}
