import { expect, test } from 'bun:test';
import { createCountryCounts } from '../../src/proxy/country-counts.ts';
import { createPool, draft } from '../support/pool.ts';

test('the living are counted by country, most first', async () => {
  const { store, clock, close } = await createPool();
  const now = clock.now();
  await store.save([
    draft('http://192.0.2.1:80', now, { country: 'FR' }),
    draft('http://192.0.2.2:80', now, { country: 'DE' }),
    draft('http://192.0.2.3:80', now, { country: 'DE' }),
    draft('http://192.0.2.4:80', now, { country: 'SE', status: 'dead' }),
  ]);
  const census = createCountryCounts(store, clock);
  const expected = [
    { country: 'DE', count: 2 },
    { country: 'FR', count: 1 },
  ];
  expect(await census()).toEqual(expected);

  await store.save([draft('http://192.0.2.5:80', now, { country: 'SE' })]);
  expect(await census()).toEqual(expected);
  await clock.advance(60_000);
  expect(await census()).toContainEqual({ country: 'SE', count: 1 });
  await close();
});
