import { describe, expect, test } from 'bun:test';
import type { ImageRecord } from '../../src/image/image.ts';
import { createAccessLog } from '../../src/image/maintenance/accesses.ts';
import { keysOf, ownerOfKey } from '../../src/image/records/blob-keys.ts';
import { createRecordCache } from '../../src/image/records/records.ts';

const HOUR_MS = 3_600_000;
const image = {
  id: 'abcDEF123456',
  format: 'jpeg',
  width: 700,
  lastAccess: 0,
  maxViews: null,
} as ImageRecord;

describe('the keys of an image', () => {
  test('are those of its file, its smaller versions, and other formats', () => {
    expect(keysOf({ ...image, height: 2800, frames: 1 })).toEqual([
      'abcDEF123456.jpg',
      'abcDEF123456-160.jpg',
      'abcDEF123456-320.jpg',
      'abcDEF123456-640.jpg',
      'abcDEF123456-auto.avif',
      'abcDEF123456-auto.webp',
    ]);
    // The longer side of a preview has at most 1,280 pixels, which makes this one 320 wide, and another one 299.
    expect(keysOf({ ...image, height: 3000, frames: 1 })).toContain('abcDEF123456-preview.jpg');
  });

  test('identify their image; foreign keys have none', () => {
    expect(ownerOfKey('abcDEF123456.jpg')).toEqual({ id: 'abcDEF123456', original: true });
    expect(ownerOfKey('abcDEF123456-160.jpg')).toEqual({ id: 'abcDEF123456', original: false });
    expect(ownerOfKey('abcDEF123456-preview.jpg')).toEqual({ id: 'abcDEF123456', original: false });
    expect(ownerOfKey('abcDEF123456-auto.avif')).toEqual({ id: 'abcDEF123456', original: false });
    for (const key of ['README.md', 'abcDEF123456', 'x/abcDEF123456.jpg']) expect(ownerOfKey(key)).toBeNull();
  });
});

describe('accesses', () => {
  function createLog() {
    const written: Record<string, number>[] = [];
    const changed: string[] = [];
    const clock = { now: 10 * HOUR_MS };
    const store = { away: false };
    const accesses = createAccessLog({
      images: {
        async touch(batch) {
          if (store.away) throw new Error('away');
          written.push(Object.fromEntries(batch));
        },
      },
      now: () => clock.now,
      log: () => {},
      onWritten: (ids) => changed.push(...ids),
    });
    return { accesses, written, changed, clock, store };
  }

  test('of one image are written once, with the first time, batched with others', async () => {
    const { accesses, written, changed, clock } = createLog();
    accesses.note(image);
    clock.now += 1000;
    accesses.note(image);
    accesses.note({ ...image, id: 'zzzDEF123456' });
    await accesses.flush();
    expect(written).toEqual([{ abcDEF123456: 10 * HOUR_MS, zzzDEF123456: 10 * HOUR_MS + 1000 }]);
    expect(changed).toEqual(['abcDEF123456', 'zzzDEF123456']);
    await accesses.flush();
    expect(written).toHaveLength(1);
  });

  test('within an hour of the last one are not written', async () => {
    const { accesses, written, clock } = createLog();
    accesses.note({ ...image, lastAccess: clock.now - HOUR_MS + 1 });
    await accesses.flush();
    expect(written).toEqual([]);
    accesses.note({ ...image, lastAccess: clock.now - HOUR_MS });
    await accesses.flush();
    expect(written).toHaveLength(1);
  });

  test('are kept while the store is away, however many there are', async () => {
    const { accesses, written, store } = createLog();
    store.away = true;
    for (let n = 0; n < 6_000; n++) accesses.note({ ...image, id: `image-${n}` });
    await accesses.flush();
    expect(accesses.has('image-0')).toBe(true);
    store.away = false;
    await accesses.flush();
    expect(written.flatMap((batch) => Object.keys(batch))).toHaveLength(6_000);
    expect(accesses.has('image-0')).toBe(false);
  });
});

describe('the record cache', () => {
  function createCache() {
    const clock = { now: 0 };
    const store = { reads: 0, record: image as ImageRecord | null, beforeAnswer: () => {} };
    const cache = createRecordCache(
      {
        async get() {
          store.reads++;
          const { record } = store;
          store.beforeAnswer();
          return record;
        },
        hasEnded: async () => false,
      },
      () => clock.now,
    );
    return { cache, clock, store };
  }

  test('asks the store once in two seconds', async () => {
    const { cache, clock, store } = createCache();
    for (let count = 0; count < 5; count++) expect(await cache.get(image.id)).toBe(image);
    expect(store.reads).toBe(1);
    clock.now = 2000;
    await cache.get(image.id);
    expect(store.reads).toBe(2);
  });

  test('does not cache missing records', async () => {
    const { cache, store } = createCache();
    store.record = null;
    expect(await cache.get(image.id)).toBeNull();
    store.record = image;
    expect(await cache.get(image.id)).toBe(image);
  });

  test('does not restore an entry that was dropped during a read', async () => {
    const { cache, store } = createCache();
    store.beforeAnswer = () => cache.forget(image.id);
    await cache.get(image.id);
    store.record = null;
    store.beforeAnswer = () => {};
    expect(await cache.get(image.id)).toBeNull();
  });
});
