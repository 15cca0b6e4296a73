import { expect, test } from 'bun:test';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { withFallback } from '../../src/lib/fallback-limiter.ts';

const BUCKET = { capacity: 2, perSecond: 0.001 };

test('a failed limiter is skipped for a second, and then asked again', async () => {
  let now = 0;
  let asked = 0;
  const failing = {
    take() {
      asked++;
      return Promise.reject(new Error('away'));
    },
  };
  const limiter = withFallback(failing, createLocalRateLimiter({ now: () => now }), () => now);
  const taken = async () => (await limiter.take('a', BUCKET)).allowed;
  expect([await taken(), await taken(), await taken()]).toEqual([true, true, false]);
  expect(asked).toBe(1);
  now = 999;
  await taken();
  expect(asked).toBe(1);
  now = 1000;
  await taken();
  expect(asked).toBe(2);
});
