import { expect, test } from 'bun:test';
import type { ImageRecord } from '../../src/image/image.ts';
import { createCaching } from '../../src/image/serve/conditional.ts';

const HOUR_MS = 3_600_000;
const now = 1_700_000_000_000;
const image = { passwordHash: null, maxViews: null, expiresAt: null } as ImageRecord;
const caching = (cacheMaxAgeMs: number, retentionMs = 2000 * HOUR_MS) =>
  createCaching({ cacheMaxAgeMs, retentionMs }, () => now);

test('nobody is told until when caches keep what they may not keep', () => {
  expect(caching(HOUR_MS).cachedUntil(image)).toBe(now + HOUR_MS + 60_000);
  expect(caching(0).cachedUntil(image)).toBeNull();
  // It may have been put forward since.
  expect(caching(HOUR_MS).cachedUntil({ ...image, expiresAt: now + 30_000 })).toBe(now + HOUR_MS + 60_000);
  expect(caching(HOUR_MS, HOUR_MS).cachedUntil(image)).toBe(now + HOUR_MS + 60_000);
});

test('caches keep a picture for a tenth of the time after which it is idle, for they hide its views, unless it expires', () => {
  const { cacheSeconds } = caching(24 * HOUR_MS, 24 * HOUR_MS);
  expect(cacheSeconds(image)).toBe(8640);
  expect(cacheSeconds({ expiresAt: now + 1000 * HOUR_MS })).toBe(86_400);
});
