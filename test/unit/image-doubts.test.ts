import { expect, test } from 'bun:test';
import { createDoubts } from '../../src/image/maintenance/doubts.ts';

test('stores that take long to compare are compared seldom', async () => {
  let now = 0;
  let looks = 0;
  const doubts = createDoubts({
    now: () => now,
    log: () => {},
    // Marks and epochs of both stores are alike.
    state: { get: async (key) => (key === 'image-doubt' ? null : '1'), set: async () => {} },
    blobs: { get: async () => new Blob(['1']), async *list() {} },
    images: {
      async faults() {
        looks++;
        now += 4000;
        return [];
      },
      repair: async () => {},
      summary: async () => ({ images: 1 }) as never,
    },
  });
  expect(await doubts.recent()).toEqual([]);
  now += 70_000;
  await doubts.recent();
  expect(looks).toBe(1);
  now += 10_000;
  await doubts.recent();
  expect(looks).toBe(2);
});
