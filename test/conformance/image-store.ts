import assert from 'node:assert/strict';
import type { ImageRecord } from '../../src/image/image.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { image } from '../support/stores/records.ts';
import { imageExpiryConformance } from './image-expiry.ts';
import { imageSearchConformance } from './image-search.ts';

const EMPTY = { items: [], total: 0, exact: true, next: null };

/** Every promise of `ImageStore`. */
export function imageStoreConformance(runner: Test, open: Open<ImageStore>): void {
  imageRecordsConformance(runner, open);
  imageSearchConformance(runner, open);
}

/** The promises about what is inserted, changed, seen and removed. */
export function imageRecordsConformance(runner: Test, open: Open<ImageStore>): void {
  const test = storeTest(runner, open);
  const ids = (images: readonly ImageRecord[]) => images.map(({ id }) => id);

  test('a missing image is null', async (store) => {
    assert.equal(await store.get('nothing00000'), null);
    assert.equal(await store.get(''), null);
  });

  test('a record reads back as it was inserted', async (store) => {
    const plain = image({ id: 'aaaaaaaaaaaa', createdAt: 1_700_000_000_123 });
    const secret = image({ id: 'bbbbbbbbbbbb', passwordHash: 'scrypt$1$x/+=', frames: 12, format: 'gif' });
    const strange = image({ id: 'cccccccccccc', filename: `"q" 'x' %_\\ <b> 猫 🐈 ${'é'.repeat(200)}` });
    for (const record of [plain, secret, strange]) {
      await store.insert(record);
      assert.deepEqual(await store.get(record.id), record);
    }
  });

  test('many records are read at once by ID, without those that are missing', async (store) => {
    const records = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc'].map((id) => image({ id }));
    const limited = image({ id: 'dddddddddddd', passwordHash: 'scrypt$1$x', maxViews: 3, viewsLeft: 3 });
    for (const record of [...records, limited]) await store.insert(record);
    await store.takeView(limited.id, 'token', 1);
    const found = await store.getMany(['dddddddddddd', 'nothing00000', 'bbbbbbbbbbbb', 'bbbbbbbbbbbb']);
    assert.deepEqual([...found.keys()].sort(), ['bbbbbbbbbbbb', 'dddddddddddd']);
    assert.deepEqual(found.get('bbbbbbbbbbbb'), records[1]);
    assert.deepEqual(found.get('dddddddddddd'), { ...limited, viewsLeft: 2 });
    assert.equal((await store.getMany([])).size, 0);
    const many = Array.from({ length: 2500 }, (_, index) => `${100_000_000_000 + index}`);
    assert.deepEqual([...(await store.getMany([...many, 'aaaaaaaaaaaa'])).keys()], ['aaaaaaaaaaaa']);
  });

  test('the perceptual hashes of all images are read, also of unlisted ones', async (store) => {
    const looks: Record<string, string | null> = {
      aaaaaaaaaaaa: '0123456789abcdef',
      bbbbbbbbbbbb: null,
      cccccccccccc: 'fedcba9876543210',
    };
    for (const [id, phash] of Object.entries(looks)) {
      const passwordHash = id.startsWith('c') ? 'scrypt$1$x' : null;
      await store.insert(image({ id, phash, passwordHash, thumbhash: 'HBkSHYSIeHiPiHh8eJd4eTN0EEQG' }));
    }
    assert.equal((await store.get('bbbbbbbbbbbb'))?.thumbhash, 'HBkSHYSIeHiPiHh8eJd4eTN0EEQG');
    const found = (await Array.fromAsync(store.looks())).flat();
    assert.deepEqual(found.sort(), [
      ['aaaaaaaaaaaa', '0123456789abcdef'],
      ['cccccccccccc', 'fedcba9876543210'],
    ]);
  });

  test('IDs are case-sensitive', async (store) => {
    await store.insert(image({ id: 'abcdefabcdef', width: 1 }));
    await store.insert(image({ id: 'ABCDEFabcdef', width: 2 }));
    assert.equal((await store.get('abcdefabcdef'))?.width, 1);
    assert.equal((await store.get('ABCDEFabcdef'))?.width, 2);
    assert.equal(await store.get('AbCdEfabcdef'), null);
  });

  test('a duplicate ID is a conflict, and the first record stays', async (store) => {
    const first = image({ id: 'aaaaaaaaaaaa', filename: 'first.png' });
    await store.insert(first);
    await assert.rejects(store.insert({ ...first, filename: 'second.png' }), { code: 'conflict' });
    assert.deepEqual(await store.get(first.id), first);
    assert.equal((await store.list({ offset: 0, limit: 10 })).total, 1);
    assert.equal((await store.list({ text: 'second', offset: 0, limit: 10 })).total, 0);
    assert.equal((await store.summary()).images, 1);
  });

  test('exactly one of many concurrent inserts of an ID succeeds', async (store) => {
    const tries = Array.from({ length: 10 }, (_, width) =>
      store.insert(image({ id: 'race00000000', width })),
    );
    const settled = await Promise.allSettled(tries);
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await store.summary()).images, 1);
  });

  test('the list is newest first, in whatever order images were inserted', async (store) => {
    const times = [5, 1, 9, 3, 7, 2, 8, 4, 6];
    for (const time of times) await store.insert(image({ id: `image${time}`, createdAt: time * 1000 }));
    const { items, total } = await store.list({ offset: 0, limit: 100 });
    assert.deepEqual(
      items.map(({ createdAt }) => createdAt / 1000),
      [9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
    assert.equal(total, 9);
  });

  test('images of the same time are ordered by ID, among older and newer ones', async (store) => {
    const tied = Array.from({ length: 60 }, (_, index) => `t${String((index * 37) % 60).padStart(2, '0')}`);
    await store.insert(image({ id: 'older', createdAt: 999 }));
    for (const id of ['new1', 'new3', 'new2']) await store.insert(image({ id, createdAt: 1001 }));
    for (const id of tied) await store.insert(image({ id, createdAt: 1000 }));
    const expected = ['new1', 'new2', 'new3', ...tied.sort(), 'older'];
    assert.deepEqual(ids((await store.list({ offset: 0, limit: 100 })).items), expected);
    const found = await store.list({ text: '.png', offset: 0, limit: 100 });
    assert.deepEqual(ids(found.items), expected);
  });

  test('IDs are ordered by code unit: digits, upper case, lower case', async (store) => {
    for (const id of ['b', 'A', '1', 'a', 'B', '2']) await store.insert(image({ id, createdAt: 5 }));
    assert.deepEqual(ids((await store.list({ offset: 0, limit: 10 })).items), ['1', '2', 'A', 'B', 'a', 'b']);
  });

  test('pages neither overlap nor skip images, and are empty past the end', async (store) => {
    for (let index = 0; index < 23; index++) await store.insert(image({ id: `p${index}`, createdAt: index }));
    const seen: string[] = [];
    for (let offset = 0; offset < 30; offset += 5) {
      const page = await store.list({ offset, limit: 5 });
      assert.equal(page.total, 23);
      assert.equal(page.items.length, Math.max(0, Math.min(5, 23 - offset)));
      seen.push(...ids(page.items));
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 23 }, (_, index) => `p${22 - index}`),
    );
  });

  test('every public image except the newest has a newer one, across ties and unlisted images', async (store) => {
    const all = [
      image({ id: 'a', createdAt: 1000 }),
      image({ id: 'b', createdAt: 2000 }),
      image({ id: 'hidden', createdAt: 2000, unlisted: 1 }),
      image({ id: 'c', createdAt: 2000 }),
      image({ id: 'd', createdAt: 3000 }),
    ];
    for (const one of all) await store.insert(one);
    const listed = (await store.list({ offset: 0, limit: 9 })).items;
    for (const [index, one] of listed.entries()) {
      assert.deepEqual(await store.newer(one), listed[index - 1] ?? null);
    }
    for (const stranger of [
      image({ id: 'hidden', createdAt: 2000 }),
      image({ id: 'none', createdAt: 1000 }),
    ]) {
      assert.equal(await store.newer(stranger), null);
    }
  });

  for (const text of ['', 'match', 'm']) {
    const what = text === '' ? 'the list' : `a search for ${text}`;

    test(`the places that pages of ${what} end at lead through all of it`, async (store) => {
      for (let index = 0; index < 23; index++) {
        const createdAt = Math.floor(index / 4);
        await store.insert(image({ id: `p${(index * 7) % 23}`, filename: 'a match', createdAt }));
        await store.insert(image({ id: `x${index}`, filename: 'hidden', passwordHash: 'x', createdAt }));
      }
      const { items: all } = await store.list({ text, offset: 0, limit: 100 });
      const seen: string[] = [];
      let page = await store.list({ text, offset: 0, limit: 5 });
      for (;;) {
        assert.deepEqual([page.total, page.exact], [23, true]);
        seen.push(...ids(page.items));
        if (!page.next) break;
        page = await store.list({ text, after: page.next, offset: 0, limit: 5 });
      }
      assert.deepEqual(seen, ids(all));
      assert.equal(seen.length, 23);
    });

    test(`a place in ${what} stays where it is when images come and go, its own too`, async (store) => {
      for (let index = 0; index < 9; index++) {
        await store.insert(image({ id: `i${index}`, filename: 'a match', createdAt: index }));
      }
      const { items, next } = await store.list({ text, offset: 0, limit: 3 });
      assert.deepEqual(next, { createdAt: 6, id: 'i6' });
      for (const { id } of items) await store.remove(id);
      await store.insert(image({ id: 'new', filename: 'a match', createdAt: 100 }));
      await store.insert(image({ id: 'i60', filename: 'a match', createdAt: 6 }));
      const behind = await store.list({ text, after: next ?? items[0] ?? image(), offset: 0, limit: 2 });
      assert.deepEqual([ids(behind.items), behind.total], [['i60', 'i5'], 8]);
      const last = await store.list({ text, after: { createdAt: 0, id: 'i0' }, offset: 0, limit: 2 });
      assert.deepEqual([last.items, last.next], [[], null]);
      const whole = await store.list({ text, offset: 0, limit: 8 });
      assert.deepEqual([whole.items.length, whole.next], [8, null]);
    });
  }

  test('images with a password are in no list or total', async (store) => {
    await store.insert(image({ id: 'public', createdAt: 1 }));
    await store.insert(image({ id: 'secret', createdAt: 2, passwordHash: 'x' }));
    const { items, total } = await store.list({ offset: 0, limit: 10 });
    assert.deepEqual([ids(items), total], [['public'], 1]);
    await store.remove('secret');
    assert.equal((await store.list({ offset: 0, limit: 10 })).total, 1);
  });

  test('the last access only moves forward, and unknown IDs are skipped', async (store) => {
    await store.insert(image({ id: 'a', lastAccess: 1000 }));
    await store.insert(image({ id: 'b', lastAccess: 1000 }));
    await store.touch(new Map([]));
    await store.touch(
      new Map([
        ['a', 2000],
        ['unknown', 3000],
        ['b', 500],
      ]),
    );
    assert.equal((await store.get('a'))?.lastAccess, 2000);
    assert.equal((await store.get('b'))?.lastAccess, 1000);
    assert.equal(await store.get('unknown'), null);
  });

  test('a thousand accesses are recorded at once', async (store) => {
    const all = Array.from({ length: 40 }, (_, index) => `image${index}`);
    for (const id of all) await store.insert(image({ id, lastAccess: 1 }));
    await store.touch(new Map(Array.from({ length: 1000 }, (_, index) => [`image${index}`, 10 + index])));
    assert.equal((await store.get('image39'))?.lastAccess, 49);
    assert.equal((await store.existing(['image40', 'image999'])).size, 0);
  });

  test('removing returns whether there was a record', async (store) => {
    await store.insert(image({ id: 'a', filename: 'gone.png' }));
    assert.equal(await store.remove('a'), true);
    assert.equal(await store.remove('a'), false);
    assert.equal(await store.get('a'), null);
    assert.deepEqual(await store.list({ offset: 0, limit: 10 }), EMPTY);
    assert.deepEqual(await store.list({ text: 'gone', offset: 0, limit: 10 }), EMPTY);
    await store.insert(image({ id: 'a' }));
    assert.equal((await store.list({ offset: 0, limit: 10 })).total, 1);
  });

  test('exactly one of many concurrent removals finds the record', async (store) => {
    await store.insert(image({ id: 'a' }));
    const removed = await Promise.all(Array.from({ length: 10 }, () => store.remove('a')));
    assert.equal(removed.filter(Boolean).length, 1);
    assert.equal((await store.summary()).images, 0);
  });

  test('an image is removed as idle only if its last access was before the limit', async (store) => {
    await store.insert(image({ id: 'a', lastAccess: 1000 }));
    assert.equal(await store.removeIdle('a', 1000), false);
    assert.equal((await store.get('a'))?.id, 'a');
    assert.equal(await store.removeIdle('a', 1001), true);
    assert.equal(await store.removeIdle('a', 1001), false);
    assert.deepEqual(await store.list({ text: 'png', offset: 0, limit: 10 }), EMPTY);
  });

  test('an access just before saves an image from removal', async (store) => {
    await store.insert(image({ id: 'a', lastAccess: 1000 }));
    await store.touch(new Map([['a', 5000]]));
    assert.equal(await store.removeIdle('a', 3000), false);
    assert.deepEqual(await store.idleSince(3000, 10), []);
  });

  test('idle images come longest idle first, up to the limit, with or without a password', async (store) => {
    for (const time of [30, 10, 40, 20]) {
      await store.insert(image({ id: `i${time}`, lastAccess: time, passwordHash: time === 20 ? 'x' : null }));
    }
    assert.deepEqual(ids(await store.idleSince(40, 10)), ['i10', 'i20', 'i30']);
    assert.deepEqual(ids(await store.idleSince(41, 2)), ['i10', 'i20']);
    assert.deepEqual(await store.idleSince(10, 10), []);
  });

  test('recent images come last accessed first, page by page, with or without a password', async (store) => {
    for (const time of [30, 10, 40, 20]) {
      await store.insert(image({ id: `r${time}`, lastAccess: time, passwordHash: time === 20 ? 'x' : null }));
    }
    assert.deepEqual(ids(await store.recent({ offset: 0, limit: 3 })), ['r40', 'r30', 'r20']);
    assert.deepEqual(ids(await store.recent({ offset: 3, limit: 3 })), ['r10']);
    assert.deepEqual(await store.recent({ offset: 4, limit: 3 }), []);
  });

  test('recent images after a cursor follow it, whatever was inserted before it', async (store) => {
    const all = ['B', 'a', 'Z0', 'Z', '9', 'y'];
    for (const id of all) await store.insert(image({ id, lastAccess: id === 'y' ? 10 : 20 }));
    await store.insert(image({ id: 'gone', lastAccess: 30 }));
    const behind = async (id: string, lastAccess: number, more = {}) =>
      ids(await store.recent({ offset: 0, limit: 9, after: { id, lastAccess }, ...more }));
    assert.deepEqual(await behind('gone', 30), ['a', 'Z0', 'Z', 'B', '9', 'y']);
    await store.remove('gone');
    assert.deepEqual(await behind('gone', 30, { limit: 2 }), ['a', 'Z0']);
    await store.insert(image({ id: 'new', lastAccess: 40 }));
    assert.deepEqual(await behind('Z0', 20), ['Z', 'B', '9', 'y']);
    assert.deepEqual(await behind('Z0', 20, { offset: 1, limit: 2 }), ['B', '9']);
    assert.deepEqual(await behind('9', 20), ['y']);
    assert.deepEqual(await behind('y', 10), []);
  });

  test('existing returns the IDs that have a record', async (store) => {
    for (let index = 0; index < 50; index++) await store.insert(image({ id: `e${index}` }));
    const asked = Array.from({ length: 2000 }, (_, index) => `e${index}`);
    const existing = await store.existing(asked);
    assert.equal(existing.size, 50);
    assert.ok(existing.has('e49') && !existing.has('e50'));
    assert.deepEqual(await store.existing([]), new Set());
  });

  test('the summary counts images, passwords, bytes and formats', async (store) => {
    const empty = await store.summary();
    assert.deepEqual([empty.images, empty.protected, empty.bytes], [0, 0, 0]);
    await store.insert(image({ id: 'a', size: 100, format: 'webp' }));
    await store.insert(image({ id: 'b', size: 20, format: 'webp', passwordHash: 'x' }));
    await store.insert(image({ id: 'c', size: 3, format: 'png' }));
    await store.insert(image({ id: 'd', size: 5_000_000_000, format: 'gif' }));
    await store.remove('d');
    const { formats, ...numbers } = await store.summary();
    assert.deepEqual(numbers, { images: 3, protected: 1, unlisted: 0, bytes: 123 });
    assert.deepEqual(
      formats.filter(({ count }) => count > 0).sort((a, b) => (a.format < b.format ? -1 : 1)),
      [
        { format: 'png', count: 1 },
        { format: 'webp', count: 2 },
      ],
    );
  });

  test('the indexes agree after any inserts and removals', async (store) => {
    assert.deepEqual(await store.faults(), []);
    await store.insert(image({ id: 'a', lastAccess: 10 }));
    await store.insert(image({ id: 'b', lastAccess: 20, passwordHash: 'x' }));
    await store.insert(image({ id: 'c', lastAccess: 30 }));
    await store.touch(new Map([['a', 40]]));
    await store.remove('c');
    assert.equal(await store.removeIdle('b', 30), true);
    assert.deepEqual(await store.faults(), []);
    const summary = await store.summary();
    await store.repair();
    assert.deepEqual([await store.faults(), await store.summary()], [[], summary]);
    assert.equal((await store.list({ offset: 0, limit: 9 })).total, 1);
  });

  test('a superseded cleanup removes nothing', async (store) => {
    const [old, young] = [1_763_000_000_000_000, 1_763_000_000_000_001];
    const fence = (token: number) => ({ name: 'cleanup', token });
    for (const id of ['a', 'b', 'c']) await store.insert(image({ id, lastAccess: 10 }));
    assert.equal(await store.removeIdle('a', 20, fence(old)), true);
    assert.equal(await store.removeIdle('b', 20, fence(young)), true);
    await assert.rejects(store.removeIdle('c', 20, fence(old)), { code: 'conflict' });
    assert.equal(await store.removeIdle('c', 20, { name: 'another job', token: 1 }), true);
  });

  test('a removed image leaves a tombstone until it is dropped', async (store) => {
    for (const id of ['a', 'b', 'c']) await store.insert(image({ id, lastAccess: 10 }));
    await store.remove('a');
    await store.removeIdle('b', 20);
    assert.deepEqual(await store.buried(['a', 'b', 'c', 'never']), new Set(['a', 'b']));
    await store.dropTombstones(3_600_000);
    assert.deepEqual(await store.buried(['a', 'b']), new Set(['a', 'b']));
    await store.insert(image({ id: 'a' }));
    assert.deepEqual(await store.buried(['a', 'b']), new Set(['b']));
    await store.dropTombstones(0);
    assert.deepEqual(await store.buried(['a', 'b']), new Set());
    assert.deepEqual(await store.buried([]), new Set());
  });

  imageExpiryConformance(runner, open);
}
