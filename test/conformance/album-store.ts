import assert from 'node:assert/strict';
import {
  type AlbumRecord,
  type AlbumStore,
  MOST_PICTURES,
  picturesOf,
} from '../../src/image/albums/album.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { album } from '../support/stores/records.ts';

/** Every promise of `AlbumStore`. */
export function albumStoreConformance(runner: Test, open: Open<AlbumStore>): void {
  const test = storeTest(runner, open);
  const ids = (albums: readonly AlbumRecord[]) => albums.map(({ id }) => id);

  test('a missing album is null, and cannot be replaced or removed', async (store) => {
    assert.equal(await store.get('nothing00000'), null);
    assert.equal(await store.replace(album({ revision: 2 })), false);
    assert.equal(await store.remove('nothing00000'), false);
    assert.deepEqual(await store.dueBy(Number.MAX_SAFE_INTEGER, 10), []);
    assert.deepEqual(await Array.fromAsync(store.all()), []);
  });

  test('an album reads back as inserted, even with the maximum number of pictures', async (store) => {
    const pictures = Array.from({ length: MOST_PICTURES }, (_, index) => `${100_000_000_000 + index}`);
    const full = album({ id: 'aaaaaaaaaaaa', pictures: pictures.join(' '), empty: 0 });
    const strange = album({ id: 'bbbbbbbbbbbb', title: `"q" 'x' %_\\ <b> 猫 🐈 [1,2]`, unlisted: 1 });
    const bare = album({ id: 'cccccccccccc', title: '' });
    for (const record of [full, strange, bare]) {
      await store.insert(record);
      assert.deepEqual(await store.get(record.id), record);
    }
    assert.deepEqual(picturesOf(full), pictures);
    assert.deepEqual(picturesOf(bare), []);
  });

  test('a duplicate ID is a conflict, and the first album stays', async (store) => {
    await store.insert(album({ title: 'first' }));
    const second = album({ title: 'second', tokenHash: 'd'.repeat(64) });
    await assert.rejects(store.insert(second), { code: 'conflict' });
    assert.equal((await store.get(second.id))?.title, 'first');
  });

  test('an album is replaced only by its next revision', async (store) => {
    await store.insert(album());
    const next = album({
      revision: 2,
      title: 'Quay',
      unlisted: 1,
      pictures: 'aaaaaaaaaaaa',
      dueAt: 5,
      empty: 0,
    });
    assert.equal(await store.replace(next), true);
    assert.deepEqual(await store.get(next.id), next);
    assert.equal(await store.replace(album({ revision: 2, title: 'too late' })), false);
    assert.equal(await store.replace(album({ revision: 4, title: 'too early' })), false);
    assert.deepEqual(await store.get(next.id), next);
  });

  test('exactly one of many concurrent changes to a revision succeeds', async (store) => {
    await store.insert(album());
    const titles = Array.from({ length: 10 }, (_, index) => `title ${index}`);
    const done = await Promise.all(titles.map((title) => store.replace(album({ revision: 2, title }))));
    assert.equal(done.filter(Boolean).length, 1);
    assert.equal((await store.get(album().id))?.title, titles[done.indexOf(true)]);
  });

  test('an album is removed once, and only in the given revision if there is one', async (store) => {
    await store.insert(album());
    await store.replace(album({ revision: 2 }));
    assert.equal(await store.remove(album().id, 1), false);
    assert.equal((await store.get(album().id))?.revision, 2);
    assert.equal(await store.remove(album().id, 2), true);
    assert.equal(await store.remove(album().id), false);
    assert.equal(await store.get(album().id), null);
    assert.deepEqual(await store.dueBy(Number.MAX_SAFE_INTEGER, 10), []);
  });

  test('due albums come in order of their time, also after it changes', async (store) => {
    for (const [id, dueAt] of Object.entries({ aaaaaaaaaaaa: 30, bbbbbbbbbbbb: 10, cccccccccccc: 20 })) {
      await store.insert(album({ id, dueAt }));
    }
    assert.deepEqual(ids(await store.dueBy(20, 10)), ['bbbbbbbbbbbb', 'cccccccccccc']);
    assert.deepEqual(ids(await store.dueBy(30, 1)), ['bbbbbbbbbbbb']);
    await store.replace(album({ id: 'bbbbbbbbbbbb', revision: 2, dueAt: 40 }));
    assert.deepEqual(ids(await store.dueBy(30, 10)), ['cccccccccccc', 'aaaaaaaaaaaa']);
  });

  test('every album can be read', async (store) => {
    const records = Array.from({ length: 450 }, (_, index) => album({ id: `${100_000_000_000 + index}` }));
    await Promise.all(records.map((record) => store.insert(record)));
    const found = (await Array.fromAsync(store.all())).flat().sort((a, b) => a.id.localeCompare(b.id));
    assert.deepEqual(found, records);
  });
}
