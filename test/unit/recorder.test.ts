import { expect, test } from 'bun:test';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { WriteRight } from '../../src/proxy/refresh/recorder.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { recorderOf } from '../support/pool/pool.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

async function openRecorder() {
  const store = createSqliteProxies(await memoryDatabase());
  const { add, flush } = recorderOf({ store, clock: createFakeClock() });
  const check = (port: number, right?: WriteRight) =>
    add({
      endpoint: { protocol: 'http', ip: '192.0.2.1', port },
      source: 'list',
      result: { verdict: 'dead', error: 'timeout' },
      ...(right && { right }),
    });
  return { store, check, flush, total: async () => (await store.summary()).total };
}

test('results of a job that lost its lease are dropped, those of users and other jobs are saved', async () => {
  const { check, flush, total } = await openRecorder();
  const ending = new AbortController();
  const mine = { name: 'refresh', token: 5, lost: ending.signal };
  const outcomes = [
    check(1, mine),
    check(2),
    check(3, { ...mine, name: 'recheck', lost: AbortSignal.any([]) }),
  ];
  ending.abort();
  await flush();
  const saved = await Promise.all(outcomes);
  expect(saved.map((record) => record !== null)).toEqual([false, true, true]);
  expect(await total()).toBe(2);
});

test('a superseded job is refused by the store, and learns of it', async () => {
  const { check, flush, total } = await openRecorder();
  const { signal: lost } = new AbortController();
  const younger = check(1, { name: 'refresh', token: 6, lost });
  await flush();
  await younger;
  const late = check(2, { name: 'refresh', token: 5, lost });
  await flush();
  // Callers look at a failure after the flush, and until then it must not count as unhandled.
  expect(await late.catch((error: unknown) => error)).toMatchObject({ code: 'conflict' });
  expect(await total()).toBe(1);
});

test('a full store learns that proxies which it has are dead, although new ones are refused', async () => {
  const { store, check, flush } = await openRecorder();
  const known = check(1);
  await flush();
  await known;
  const { save } = store;
  let saves = 0;
  store.save = async (drafts) => {
    saves++;
    if (drafts.some(({ port }) => port !== 1))
      throw new AppError('storage_full', inEnglish('The store is full.'));
    return save(drafts);
  };
  const outcomes = [check(2), check(1), check(1)];
  await flush();
  const [fresh, , latest] = await Promise.allSettled(outcomes);
  expect(fresh).toMatchObject({ status: 'rejected', reason: { code: 'storage_full' } });
  expect(latest).toMatchObject({ status: 'fulfilled', value: { checks: 3 } });
  expect(saves).toBe(2);
});
