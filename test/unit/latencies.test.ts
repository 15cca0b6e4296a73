import { expect, test } from 'bun:test';
import { createLatencies } from '../../src/proxy/pool/latencies.ts';
import { createPool, draft } from '../support/pool/pool.ts';

test('working proxies are counted by response time, and again after a while', async () => {
  const { store, clock, close } = await createPool();
  const now = clock.now();
  await store.save([
    draft('http://192.0.2.1:80', now, { responseMs: 100 }),
    draft('http://192.0.2.2:80', now, { responseMs: 101 }),
    draft('http://192.0.2.3:80', now, { responseMs: 9000 }),
    draft('http://192.0.2.4:80', now, { responseMs: null }),
    draft('http://192.0.2.5:80', now, { status: 'dead', responseMs: 50 }),
  ]);
  const latencies = createLatencies(store, clock);
  expect(await latencies()).toEqual([1, 1, 0, 0, 0, 0, 2]);

  await store.save([draft('http://192.0.2.6:80', now, { responseMs: 50 })]);
  expect(await latencies()).toEqual([1, 1, 0, 0, 0, 0, 2]);
  await clock.advance(60_000);
  expect(await latencies()).toEqual([2, 1, 0, 0, 0, 0, 2]);
  await close();
});
