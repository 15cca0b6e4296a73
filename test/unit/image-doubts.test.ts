import { expect, test } from 'bun:test';
import { fail } from '../../src/findings/finding.ts';
import { createDoubts } from '../../src/image/maintenance/doubts.ts';

const HOUR_MS = 3_600_000;

/** Doubts about stores whose marks and epochs are alike; `counting`: what a thorough look waits for. */
function openDoubts(counting: Promise<void> = Promise.resolve()) {
  const stores = { ms: 0, thorough: 0, quick: 0, lost: false };
  const faults = () => (stores.lost ? [fail('All are gone.')] : []);
  const doubts = createDoubts({
    now: () => stores.ms,
    log: () => {},
    state: { get: async (key) => (key === 'image-doubt' ? null : '1'), set: async () => {} },
    blobs: { get: async () => new Blob(['1']), stat: async () => null, async *list() {} },
    images: {
      async faults() {
        stores.thorough++;
        await counting;
        return faults();
      },
      async knownFaults() {
        stores.quick++;
        return faults();
      },
      buried: async () => new Set<string>(),
      recent: async () => [],
      repair: async () => {},
      summary: async () => ({ images: 1 }) as never,
    },
  });
  return { stores, doubts };
}

test('known results are returned while the records are being counted', async () => {
  const counted = Promise.withResolvers<void>();
  const { stores, doubts } = openDoubts(counted.promise);
  const looking = doubts.look();
  expect(await doubts.recent()).toEqual([]);
  stores.lost = true;
  stores.ms += 10_000;
  expect(await doubts.recent()).toMatchObject([{ text: 'All are gone.' }]);
  expect(stores).toMatchObject({ thorough: 1, quick: 2 });
  counted.resolve();
  expect(await looking).toMatchObject([{ text: 'All are gone.' }]);
});

test('records are counted at the start, once an hour, and before files are removed', async () => {
  const { stores, doubts } = openDoubts();
  for (let minute = 0; minute < 60; minute++) {
    await doubts.watch();
    await doubts.recent();
    stores.ms += HOUR_MS / 60;
  }
  expect(stores.thorough).toBe(1);
  await doubts.watch();
  expect(stores.thorough).toBe(2);
  await doubts.look();
  await doubts.look();
  expect(stores.thorough).toBe(4);
});

test('concurrent callers share the result, and it is cached for ten seconds', async () => {
  const { stores, doubts } = openDoubts();
  await Promise.all([doubts.recent(), doubts.recent()]);
  stores.ms += 9999;
  await doubts.recent();
  expect(stores.quick).toBe(1);
});
