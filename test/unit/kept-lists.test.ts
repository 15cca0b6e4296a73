import { expect, test } from 'bun:test';
import { withKeptLists } from '../../adapters/postgres/kept-lists.ts';
import { createSqliteImages } from '../../adapters/sqlite/images.ts';
import { createRecordCache } from '../../src/image/records/records.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { memoryDatabase } from '../support/stores/memory.ts';
import { image } from '../support/stores/records.ts';

const FIRST = { offset: 0, limit: 5 };

/** A real store that counts its questions, and may fail at the next ones. */
async function openCounted() {
  const store = createSqliteImages(await memoryDatabase());
  const seen = { asked: 0, fails: false };
  const counted =
    <Args extends unknown[], T>(ask: (...args: Args) => Promise<T>) =>
    async (...args: Args) => {
      seen.asked++;
      if (seen.fails) throw new Error('away');
      return ask(...args);
    };
  const images: ImageStore = { ...store, list: counted(store.list), get: counted(store.get) };
  return { images, seen };
}

test('a popular page is read once a second, and again after each write of this copy', async () => {
  const { images, seen } = await openCounted();
  let now = 0;
  const kept = withKeptLists(images, () => now);
  const totals = async () =>
    new Set(
      (await Promise.all(Array.from({ length: 50 }, () => kept.list(FIRST)))).map(({ total }) => total),
    );
  expect([await totals(), seen.asked]).toEqual([new Set([0]), 1]);
  await images.insert(image({ id: 'of-another-copy' }));
  now = 999;
  expect([await totals(), seen.asked]).toEqual([new Set([0]), 1]);
  now = 1000;
  expect([await totals(), seen.asked]).toEqual([new Set([1]), 2]);
  await kept.insert(image({ id: 'own' }));
  expect([await totals(), seen.asked]).toEqual([new Set([2]), 3]);
  await kept.remove('own');
  expect([await totals(), seen.asked]).toEqual([new Set([1]), 4]);
  expect((await kept.list({ ...FIRST, text: 'another' })).total).toBe(1);
  expect((await kept.list({ ...FIRST, after: { createdAt: 0, id: '' } })).items).toEqual([]);
  expect(seen.asked).toBe(6);
});

test('a page that could not be read is read again', async () => {
  const { images, seen } = await openCounted();
  const kept = withKeptLists(images, () => 0);
  seen.fails = true;
  await expect(kept.list(FIRST)).rejects.toThrow('away');
  seen.fails = false;
  expect((await kept.list(FIRST)).total).toBe(0);
});

test('concurrent requests for an image read it once, but never as it was before a change', async () => {
  const { images, seen } = await openCounted();
  await images.insert(image({ id: 'hot', filename: 'before.png' }));
  const records = createRecordCache(images, () => 0);
  const names = async (count: number) =>
    new Set(
      (await Promise.all(Array.from({ length: count }, () => records.get('hot')))).map(
        (one) => one?.filename,
      ),
    );
  expect([await names(50), seen.asked]).toEqual([new Set(['before.png']), 1]);
  records.forget('hot');
  const reading = records.get('hot');
  await images.change('hot', { filename: 'after.png' });
  records.forget('hot');
  expect(await names(3)).toEqual(new Set(['after.png']));
  await reading;
  expect(await names(3)).toEqual(new Set(['after.png']));
  seen.fails = true;
  records.forget('hot');
  await expect(records.get('hot')).rejects.toThrow('away');
  seen.fails = false;
  expect(await names(1)).toEqual(new Set(['after.png']));
});
