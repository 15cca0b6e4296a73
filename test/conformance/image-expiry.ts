import assert from 'node:assert/strict';
import { type ImageRecord, NEVER } from '../../src/image/image.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { image } from '../support/stores/records.ts';

/** A time that has passed, and one that has not, by every clock. */
const PAST = 1_700_000_000_000;
const FUTURE = 4_000_000_000_000;

/** The promises of `ImageStore` about who sees an image, and for how long. */
export function imageExpiryConformance(runner: Test, open: Open<ImageStore>): void {
  const test = storeTest(runner, open);
  const ids = (images: readonly ImageRecord[]) => images.map(({ id }) => id);
  const listed = async (store: ImageStore, text?: string) => {
    const { items, total } = await store.list({ ...(text && { text }), offset: 0, limit: 9 });
    assert.equal(total, items.length);
    return ids(items);
  };
  const limited = (fields: Partial<ImageRecord>, views: number) =>
    image({ unlisted: 1, maxViews: views, viewsLeft: views, ...fields });

  test('visibility and lifetime read back as they were inserted', async (store) => {
    const records = [
      image({ id: 'a', unlisted: 1, expiresAt: FUTURE, maxViews: 5, viewsLeft: 3 }),
      image({ id: 'b', expiresAt: NEVER }),
      image({ id: 'c', passwordHash: 'x', expiresAt: PAST }),
    ];
    for (const record of records) {
      await store.insert(record);
      assert.deepEqual(await store.get(record.id), record);
    }
  });

  test('unlisted images are in no list, search or total, and are counted separately', async (store) => {
    await store.insert(image({ id: 'public', createdAt: 1 }));
    await store.insert(image({ id: 'unlisted', createdAt: 2, unlisted: 1 }));
    await store.insert(image({ id: 'secret', createdAt: 3, passwordHash: 'x' }));
    assert.deepEqual([await listed(store), await listed(store, 'png')], [['public'], ['public']]);
    assert.deepEqual(ids(await store.recent({ offset: 0, limit: 9 })).length, 3);
    const { images, protected: hidden, unlisted } = await store.summary();
    assert.deepEqual([images, hidden, unlisted], [3, 1, 1]);
    assert.deepEqual(await store.faults(), []);
    await store.remove('unlisted');
    assert.equal((await store.summary()).unlisted, 0);
    await store.repair();
    assert.deepEqual([await store.faults(), await listed(store)], [[], ['public']]);
  });

  test('a change returns the new record, and lists follow at once', async (store) => {
    for (const id of ['a', 'b', 'c']) await store.insert(image({ id, createdAt: id.charCodeAt(0) }));
    assert.deepEqual(await listed(store), ['c', 'b', 'a']);
    const changes = [
      [{ unlisted: 1 }, ['c', 'a'], [0, 1]],
      [{ unlisted: 0, passwordHash: 'x' }, ['c', 'a'], [1, 0]],
      [{ passwordHash: null }, ['c', 'b', 'a'], [0, 0]],
    ] as const;
    let expected = await store.get('b');
    for (const [change, seen, hidden] of changes) {
      expected = { ...image(), ...expected, ...change };
      assert.deepEqual(await store.change('b', change), expected);
      assert.deepEqual(await store.get('b'), expected);
      assert.deepEqual([await listed(store), await listed(store, 'png')], [seen, seen]);
      const { images, protected: locked, unlisted, bytes } = await store.summary();
      assert.deepEqual([images, [locked, unlisted], bytes], [3, hidden, 3000]);
      assert.deepEqual(await store.faults(), []);
    }
    assert.equal(await store.change('nothing', { unlisted: 1 }), null);
  });

  test('a search finds a renamed image only by its new name', async (store) => {
    await store.insert(image({ id: 'a', filename: 'harbour.jpg' }));
    assert.deepEqual(await listed(store, 'harbour'), ['a']);
    await store.change('a', { filename: 'lighthouse.jpg' });
    assert.deepEqual([await listed(store, 'harbour'), await listed(store, 'lightho')], [[], ['a']]);
  });

  test('no concurrent change is lost', async (store) => {
    await store.insert(image({ id: 'a' }));
    await Promise.all([
      store.change('a', { filename: 'other.png' }),
      store.change('a', { expiresAt: FUTURE }),
      store.change('a', { unlisted: 1 }),
    ]);
    const { filename, expiresAt, unlisted } = (await store.get('a')) ?? image();
    assert.deepEqual([filename, expiresAt, unlisted], ['other.png', FUTURE, 1]);
  });

  test('an image with an expiry is not removed as idle', async (store) => {
    await store.insert(image({ id: 'fades', lastAccess: 10 }));
    await store.insert(image({ id: 'stays', lastAccess: 1, expiresAt: NEVER }));
    await store.insert(image({ id: 'ends', lastAccess: 2, expiresAt: FUTURE }));
    assert.deepEqual(ids(await store.idleSince(100, 9)), ['fades']);
    assert.deepEqual(ids(await store.idleSince(100, 1)), ['fades']);
    assert.equal(await store.removeIdle('stays', 100), false);
    await store.change('stays', { expiresAt: null });
    await store.change('fades', { expiresAt: FUTURE });
    assert.deepEqual(ids(await store.idleSince(100, 9)), ['stays']);
    assert.deepEqual(
      [await store.removeIdle('fades', 100), await store.removeIdle('stays', 100)],
      [false, true],
    );
  });

  test('images expire in order, and not early', async (store) => {
    for (const id of ['c', 'a', 'b']) {
      await store.insert(
        image({ id, expiresAt: PAST + id.charCodeAt(0), passwordHash: id === 'a' ? 'x' : null }),
      );
    }
    await store.insert(image({ id: 'later', expiresAt: FUTURE }));
    await store.insert(image({ id: 'never', expiresAt: NEVER }));
    await store.insert(image({ id: 'idle' }));
    const now = PAST + 1000;
    assert.deepEqual(ids(await store.endedBy(now, 9)), ['a', 'b', 'c']);
    assert.deepEqual(ids(await store.endedBy(now, 2)), ['a', 'b']);
    assert.deepEqual(ids(await store.endedBy(PAST + 97, 9)), ['a']);
    await store.change('b', { expiresAt: FUTURE });
    assert.equal(await store.removeEnded('b', now), false);
    assert.equal(await store.removeEnded('a', PAST + 96), false);
    assert.equal(await store.removeEnded('idle', now), false);
    assert.equal(await store.removeEnded('a', now), true);
    assert.equal(await store.removeEnded('a', now), false);
    assert.deepEqual(ids(await store.endedBy(now, 9)), ['c']);
    assert.deepEqual(
      [await store.hasEnded('a'), await store.hasEnded('b'), await store.hasEnded('x')],
      [true, false, false],
    );
    assert.equal((await store.summary()).images, 5);
    assert.deepEqual(await store.faults(), []);
  });

  test('expired images stay recorded when tombstones are dropped, until their ID is reused', async (store) => {
    await store.insert(image({ id: 'a', expiresAt: PAST }));
    await store.removeEnded('a', PAST);
    await store.dropTombstones(0);
    assert.deepEqual(await store.buried(['a', 'b']), new Set(['a']));
    await store.insert(image({ id: 'deleted' }));
    await store.remove('deleted');
    assert.equal(await store.hasEnded('deleted'), false);
    assert.deepEqual(await store.get('a'), null);
    await store.insert(image({ id: 'a' }));
    assert.deepEqual([await store.hasEnded('a'), await store.buried(['a'])], [false, new Set()]);
  });

  test('concurrent requests never take more views than there are', async (store) => {
    await store.insert(limited({ id: 'a' }, 3));
    await store.insert(image({ id: 'free' }));
    const taken = await Promise.all(
      // Few enough that a busy Postgres, in which one of them comes through at a time, turns none away.
      Array.from({ length: 6 }, (_, index) => store.takeView('a', `token-${index}`, FUTURE)),
    );
    assert.equal(taken.filter(Boolean).length, 3);
    assert.equal((await store.get('a'))?.viewsLeft, 0);
    assert.equal(await store.takeView('free', 't', FUTURE), false);
    assert.equal(await store.takeView('nothing', 't', FUTURE), false);
  });

  test('a returned view can be taken again', async (store) => {
    await store.insert(limited({ id: 'a' }, 1));
    for (const token of ['one', 'two', 'three']) {
      assert.equal(await store.takeView('a', token, FUTURE), true);
      assert.equal(await store.takeView('a', `${token}-other`, FUTURE), false);
      assert.equal(await store.endView('a', token, false), false);
      assert.equal((await store.get('a'))?.viewsLeft, 1);
    }
  });

  test('the last completed view removes the record if no other is in progress', async (store) => {
    await store.insert(limited({ id: 'a' }, 2));
    await store.takeView('a', 'one', FUTURE);
    await store.takeView('a', 'two', FUTURE);
    assert.equal(await store.endView('a', 'one', true), false);
    assert.equal(await store.endView('a', 'two', false), false);
    assert.equal((await store.get('a'))?.viewsLeft, 1);
    await store.takeView('a', 'three', FUTURE);
    assert.equal(await store.endView('a', 'three', true), true);
    assert.deepEqual([await store.get('a'), await store.hasEnded('a')], [null, true]);
    assert.deepEqual(await store.buried(['a']), new Set(['a']));
    assert.equal((await store.summary()).images, 0);
    assert.deepEqual(await store.faults(), []);
  });

  test('a last view that is never completed counts as seen after a while', async (store) => {
    await store.insert(limited({ id: 'a' }, 2));
    await store.takeView('a', 'one', PAST);
    assert.deepEqual(ids(await store.endedBy(FUTURE, 9)), []);
    await store.takeView('a', 'two', PAST + 5);
    assert.deepEqual(ids(await store.endedBy(PAST + 4, 9)), []);
    assert.deepEqual(ids(await store.endedBy(PAST + 5, 9)), ['a']);
    assert.equal(await store.removeIdle('a', FUTURE), false);
    await store.endView('a', 'two', false);
    assert.equal(await store.removeEnded('a', PAST + 5), false);
    await store.takeView('a', 'three', PAST + 7);
    assert.equal(await store.removeEnded('a', PAST + 7), true);
  });

  test('a view in progress does not postpone an earlier expiry', async (store) => {
    await store.insert(limited({ id: 'a', expiresAt: PAST + 10 }, 1));
    await store.takeView('a', 'one', PAST + 50);
    assert.deepEqual(ids(await store.endedBy(PAST + 10, 9)), ['a']);
    await store.change('a', { expiresAt: PAST + 90 });
    await store.change('a', { filename: 'other.png' });
    assert.equal((await store.get('a'))?.viewsLeft, 0);
    await store.endView('a', 'one', false);
    assert.deepEqual(ids(await store.endedBy(PAST + 89, 9)), []);
    assert.deepEqual(ids(await store.endedBy(PAST + 90, 9)), ['a']);
  });
}
