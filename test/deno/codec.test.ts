import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { receiveUpload } from '../../src/image/upload.ts';
import { startCodec } from '../support/codec.ts';
import { pngBomb } from '../support/hostile-images.ts';
import { photo, privatePhoto } from '../support/images.ts';

test('pictures are converted by worker processes, and one that hangs costs one request', async () => {
  const bench = await startCodec({ workers: 1, timeoutMs: 700 });
  try {
    const { format, width, height } = await bench.convert(await privatePhoto('jpeg', 6), { format: 'avif' });
    assert.deepEqual({ format, width, height }, { format: 'avif', width: 96, height: 64 });
    await assert.rejects(bench.convert(pngBomb(17_000, 17_000, 1)), { code: 'image_limit' });
    await assert.rejects(bench.convert(await photo(3000, 2600), { format: 'gif' }), {
      code: 'conversion_timeout',
    });
    assert.equal((await bench.convert(await privatePhoto('png'))).format, 'webp');
    assert.deepEqual(await bench.files(), []);
  } finally {
    await bench.stop();
  }
});

test('a form is taken in as a file', async () => {
  const bench = await startCodec();
  try {
    const form = new FormData();
    form.set('image', new File(['x'.repeat(100_000)], 'große Katze.png'));
    form.set('format', 'png');
    const request = new Request('http://localhost/', { method: 'POST', body: form });
    const upload = await receiveUpload(request, { maxBytes: 1e6, folder: bench.folder });
    assert.equal((await readFile(upload.path)).length, 100_000);
    assert.deepEqual([upload.filename, upload.fields.format], ['große Katze.png', 'png']);
    await upload.dispose();
    assert.deepEqual(await bench.files(), []);
  } finally {
    await bench.stop();
  }
});
