import { expect, setSystemTime, test } from 'bun:test';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { openRecords } from '../../adapters/open.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createRecordCache } from '../../src/image/records/records.ts';
import { createBlocks } from '../../src/moderation/blocks.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { memoryDatabase } from '../support/stores/memory.ts';
import { image } from '../support/stores/records.ts';

const HOUR_MS = 3_600_000;
const JUMPS = [
  ['an hour ahead', HOUR_MS],
  ['an hour back', -HOUR_MS],
] as const;

test.each(JUMPS)(
  'the clock jumps %s: a limit neither forgets what it has counted, nor waits longer',
  async (_, ms) => {
    const { limiter, close } = await openRecords('sqlite::memory:', { runtime: bunRuntime });
    const take = () => limiter.take('client', { capacity: 2, perSecond: 1 / 60 });
    try {
      await take();
      await take();
      setSystemTime(Date.now() + ms);
      const { allowed, retryAfterMs } = await take();
      expect([allowed, Math.round(retryAfterMs / 10_000)]).toEqual([false, 6]);
    } finally {
      setSystemTime();
      await close();
    }
  },
);

test.each(JUMPS)('the clock jumps %s: what another copy deleted is soon gone', async (_, ms) => {
  let now = 10 * HOUR_MS;
  let stored: ReturnType<typeof image> | null = image();
  const records = createRecordCache({ get: async () => stored, hasEnded: async () => false }, () => now);
  expect(await records.get(image().id)).toEqual(image());
  stored = null;
  expect(records.cached(image().id)).toEqual(image());
  now += ms;
  expect(await records.get(image().id)).toBeNull();
});

test.each(JUMPS)('the clock jumps %s: what another copy blocked is soon known', async (_, ms) => {
  let now = 10 * HOUR_MS;
  const parts = {
    state: createSqliteState(await memoryDatabase()),
    locks: createLocalLocks(),
    now: () => now,
  };
  const here = createBlocks(parts);
  const elsewhere = createBlocks(parts);
  await here.mayWrite('192.0.2.1');
  await elsewhere.add({ network: '192.0.2.0/24' }, '');
  now += ms;
  expect(here.mayWrite('192.0.2.1')).rejects.toMatchObject({ code: 'forbidden' });
});
