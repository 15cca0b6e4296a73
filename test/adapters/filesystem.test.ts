import { test } from 'bun:test';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolderBlobs, translated } from '../../adapters/filesystem/blobs.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { blobStoreConformance } from '../conformance/blob-store.ts';
import { folderOpener } from '../support/stores/local.ts';
import { withFolder } from '../support/temporary.ts';

const { fileBody } = bunRuntime;

blobStoreConformance(test, folderOpener(fileBody));

test('keys that are too long or point outside the folder are refused', async () => {
  await withFolder(async (folder) => {
    const blobs = createFolderBlobs({ folder, fileBody });
    const bad = [
      '',
      '.',
      '..',
      '../x',
      'a/../../x',
      '/etc/passwd',
      'a//b',
      'a/',
      '.partial',
      'a\\b',
      'a_b',
      'a\0b',
    ];
    for (const key of [...bad, 'ä', 'a b', 'a\n', 'x'.repeat(251)]) {
      await assert.rejects(blobs.get(key), RangeError, key);
      await assert.rejects(blobs.stat(key), RangeError, key);
      await assert.rejects(blobs.remove(key), RangeError, key);
      await assert.rejects(blobs.put(key, join(folder, 'none'), 'image/png'), RangeError, key);
    }
  });
});

test('a file from another file system is also taken over', async () => {
  /* /dev/shm is a file system of its own on every Linux. */
  const elsewhere = await mkdtemp('/dev/shm/picpool-');
  try {
    await withFolder(async (folder) => {
      assert.notEqual((await stat(elsewhere)).dev, (await stat(folder)).dev);
      const source = join(elsewhere, 'upload');
      await writeFile(source, 'from elsewhere');
      const blobs = createFolderBlobs({ folder: join(folder, 'images'), fileBody });
      await blobs.put('a.png', source, 'image/png');
      assert.equal(await new Response(await blobs.get('a.png')).text(), 'from elsewhere');
      await assert.rejects(stat(source), { code: 'ENOENT' });
      assert.deepEqual(await readdir(join(folder, 'images', '.partial')), []);
    });
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});

test('a folder that held files and is gone, as with its disk, is not created again where nobody would look for them', async () => {
  await withFolder(async (folder) => {
    const root = join(folder, 'mount', 'images');
    let blobs = createFolderBlobs({ folder: root, fileBody });
    const put = async (key: string) => {
      await writeFile(join(folder, 'upload'), key);
      await blobs.put(key, join(folder, 'upload'), 'image/png');
    };
    await put('a.png');
    for (const isStartedAnew of [false, true]) {
      if (isStartedAnew) blobs = createFolderBlobs({ folder: root, fileBody });
      assert.equal(await new Response(await blobs.get('a.png')).text(), 'a.png');
      await rename(root, join(folder, 'unmounted'));
      await assert.rejects(put('b.png'), { code: 'unavailable' });
      assert.deepEqual(await readdir(join(folder, 'mount')), []);
      await rename(join(folder, 'unmounted'), root);
      await put('b.png');
    }
  });
});

test('temporary files of a dead process are removed after a day, and not listed before', async () => {
  await withFolder(async (folder) => {
    await mkdir(join(folder, '.partial'));
    await writeFile(join(folder, '.partial', 'old'), 'x');
    await writeFile(join(folder, '.partial', 'young'), 'x');
    await utimes(join(folder, '.partial', 'old'), 1, 1);
    const blobs = createFolderBlobs({ folder, fileBody });
    for await (const batch of blobs.list()) assert.deepEqual(batch, []);
    assert.deepEqual(await readdir(join(folder, '.partial')), ['young']);
  });
});

test('a folder that cannot be used is reported as unavailable', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'file');
    await writeFile(file, 'not a folder');
    const blobs = createFolderBlobs({ folder: file, fileBody });
    await assert.rejects(blobs.stat('a.png'), { code: 'unavailable' });
    await assert.rejects(blobs.get('a.png'), { code: 'unavailable' });
    await assert.rejects(
      async () => {
        for await (const _ of blobs.list()) break;
      },
      { code: 'unavailable' },
    );
  });
});

test('a full or read-only disk is reported as such', async () => {
  /* Writing to /dev/full always fails with ENOSPC. */
  await withFolder(async (folder) => {
    const blobs = createFolderBlobs({
      folder,
      fileBody: async () => {
        await writeFile('/dev/full', 'x');
        return new Blob();
      },
    });
    const readOnly = Object.assign(new Error('x'), { code: 'EROFS' });
    await assert.rejects(
      translated(() => Promise.reject(readOnly)),
      { message: 'The disk is read-only.' },
    );
    await writeFile(join(folder, 'upload'), 'x');
    await blobs.put('a.png', join(folder, 'upload'), 'image/png');
    await assert.rejects(blobs.get('a.png'), { code: 'storage_full' });
  });
});
