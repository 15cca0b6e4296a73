import assert from 'node:assert/strict';
import { access, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobInfo, BlobStore } from '../../src/image/store.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { withFolder } from '../support/temporary.ts';

const PNG = 'image/png';

/** Every promise of `BlobStore`. */
export function blobStoreConformance(runner: Test, open: Open<BlobStore>): void {
  const test = storeTest(runner, open);

  function put(store: BlobStore, key: string, content: string | Uint8Array): Promise<string> {
    return withFolder(async (folder) => {
      const path = join(folder, 'upload');
      await writeFile(path, content);
      await store.put(key, path, PNG);
      await assert.rejects(access(path), { code: 'ENOENT' });
      return path;
    });
  }

  async function bytesOf(store: BlobStore, key: string, start?: number, end?: number): Promise<Uint8Array> {
    const range = start === undefined || end === undefined ? undefined : { start, end };
    const body = await store.get(key, range);
    assert.ok(body, `there should be a blob ${key}`);
    return new Response(body).bytes();
  }

  async function textOf(store: BlobStore, key: string): Promise<string> {
    return new TextDecoder().decode(await bytesOf(store, key));
  }

  async function listed(store: BlobStore): Promise<BlobInfo[]> {
    const infos: BlobInfo[] = [];
    for await (const batch of store.list()) infos.push(...batch);
    return infos.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  test('a blob that was never stored is null', async (store) => {
    assert.equal(await store.get('none.png'), null);
    assert.equal(await store.get('none.png', { start: 0, end: 1 }), null);
    assert.equal(await store.stat('none.png'), null);
  });

  test('a blob reads back byte for byte, and the store takes over its file', async (store) => {
    const content = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 31) % 251);
    await put(store, 'AbCdEf123456.png', content);
    assert.deepEqual(await bytesOf(store, 'AbCdEf123456.png'), content);
  });

  test('a blob may be empty', async (store) => {
    await put(store, 'empty.bin', '');
    assert.equal((await bytesOf(store, 'empty.bin')).length, 0);
    assert.equal((await store.stat('empty.bin'))?.size, 0);
  });

  test('a range includes its start and excludes its end', async (store) => {
    await put(store, 'digits.png', '0123456789');
    const cases: [number, number, string][] = [
      [0, 10, '0123456789'],
      [0, 1, '0'],
      [9, 10, '9'],
      [3, 7, '3456'],
    ];
    for (const [start, end, expected] of cases) {
      assert.equal(new TextDecoder().decode(await bytesOf(store, 'digits.png', start, end)), expected);
    }
  });

  test('stat returns the size and the time of writing', async (store) => {
    await put(store, 'a.png', '12345');
    const info = await store.stat('a.png');
    assert.equal(info?.key, 'a.png');
    assert.equal(info?.size, 5);
    assert.ok(Math.abs((info?.modified ?? 0) - Date.now()) < 10 * 60_000);
  });

  test('storing a blob again replaces it', async (store) => {
    await put(store, 'a.png', 'a longer first version');
    await put(store, 'a.png', 'second');
    assert.equal(await textOf(store, 'a.png'), 'second');
    assert.equal((await store.stat('a.png'))?.size, 6);
    assert.equal((await listed(store)).length, 1);
  });

  test('readers see one whole version while a blob is replaced', async (store) => {
    const versions = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200_000));
    await put(store, 'busy.png', versions[0] ?? '');
    const reads = Array.from({ length: 12 }, () => textOf(store, 'busy.png'));
    const [, ...seen] = await Promise.all([
      Promise.all(versions.map((version) => put(store, 'busy.png', version))),
      ...reads,
    ]);
    for (const text of seen) assert.ok(versions.includes(text), `a mixture of ${text.length} bytes`);
    assert.ok(versions.includes(await textOf(store, 'busy.png')));
  });

  test('removing is idempotent', async (store) => {
    await put(store, 'a.png', 'x');
    await store.remove('a.png');
    assert.equal(await store.get('a.png'), null);
    assert.equal(await store.stat('a.png'), null);
    await store.remove('a.png');
    await store.remove('never.png');
  });

  test('a moved blob exists only under its new key, with the current time', async (store) => {
    await put(store, 'a.png', 'content');
    await put(store, 'stray/a.png', 'older');
    assert.equal(await store.move('a.png', 'stray/a.png'), true);
    assert.equal(await store.get('a.png'), null);
    assert.equal(await textOf(store, 'stray/a.png'), 'content');
    assert.ok(Math.abs(((await store.stat('stray/a.png'))?.modified ?? 0) - Date.now()) < 10 * 60_000);
    assert.equal(await store.move('a.png', 'stray/a.png'), false);
    assert.equal(await textOf(store, 'stray/a.png'), 'content');
  });

  test('keys differ by parts, prefixes and letter case', async (store) => {
    const keys = ['a', 'a/b', 'a/b/c', 'a-b', 'a.b', 'abc', 'x/1.webp', 'x/1-320.webp', 'Q1', 'q2'];
    await Promise.all(keys.map((key) => put(store, key, `content of ${key}`)));
    for (const key of keys) assert.equal(await textOf(store, key), `content of ${key}`);
    await store.remove('a');
    assert.equal(await textOf(store, 'a/b'), 'content of a/b');
    assert.deepEqual(
      (await listed(store)).map(({ key }) => key),
      keys.slice(1).sort(),
    );
  });

  test('a store without blobs lists nothing', async (store) => {
    assert.deepEqual(await listed(store), []);
  });

  test('the list has every blob once, with its size', async (store) => {
    const keys = Array.from({ length: 120 }, (_, index) => `image${index}.png`);
    await Promise.all(keys.map((key, index) => put(store, key, 'x'.repeat(index))));
    const infos = await listed(store);
    assert.deepEqual(
      infos.map(({ key }) => key),
      [...keys].sort(),
    );
    for (const { key, size } of infos) assert.equal(size, keys.indexOf(key));
  });

  test('blobs can be removed while they are listed', async (store) => {
    const keys = Array.from({ length: 30 }, (_, index) => `image${index}.png`);
    await Promise.all(keys.map((key) => put(store, key, 'x')));
    for await (const batch of store.list()) for (const { key } of batch) await store.remove(key);
    assert.deepEqual(await listed(store), []);
  });

  test('a missing file cannot be stored, and nothing is published', async (store) => {
    await assert.rejects(store.put('a.png', join(tmpdir(), 'picpool-no-such-file'), PNG));
    assert.equal(await store.stat('a.png'), null);
  });
}
