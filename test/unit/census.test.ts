import { expect, test } from 'bun:test';
import { createCensus } from '../../src/proxy/census.ts';
import { createPool, draft } from '../support/pool.ts';

test('the living are counted by country, most first, and by response time', async () => {
  const { store, clock, close } = await createPool();
  const now = clock.now();
  await store.save([
    draft('http://192.0.2.1:80', now, { country: 'FR', responseMs: 100 }),
    draft('http://192.0.2.2:80', now, { country: 'DE', responseMs: 101 }),
    draft('http://192.0.2.3:80', now, { country: 'DE', responseMs: 9000 }),
    draft('http://192.0.2.4:80', now, { country: 'SE', status: 'dead', responseMs: 50 }),
  ]);
  const census = createCensus(store, clock);
  const expected = {
    countries: [
      { country: 'DE', count: 2 },
      { country: 'FR', count: 1 },
    ],
    latencies: [1, 1, 0, 0, 0, 0, 1],
  };
  expect(await census()).toEqual(expected);

  await store.save([draft('http://192.0.2.5:80', now, { country: 'SE' })]);
  expect(await census()).toEqual(expected);
  await clock.advance(60_000);
  expect((await census()).countries).toContainEqual({ country: 'SE', count: 1 });
  await close();
});
