import { expect, test } from 'bun:test';
import type { ImageRecord } from '../../src/image/image.ts';
import { createCaching } from '../../src/image/serve/conditional.ts';

test('nobody is told until when caches keep what they may not keep', () => {
  const now = 1_700_000_000_000;
  const image = { passwordHash: null, maxViews: null, expiresAt: null } as ImageRecord;
  expect(createCaching(3_600_000, () => now).cachedUntil(image)).toBe(now + 3_660_000);
  expect(createCaching(0, () => now).cachedUntil(image)).toBeNull();
  const ending = { ...image, expiresAt: now + 30_000 };
  expect(createCaching(3_600_000, () => now).cachedUntil(ending)).toBe(now + 60_000);
});
