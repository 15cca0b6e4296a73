import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { WorkerReply } from '../../src/codec/workers/protocol.ts';
import { receiveUpload } from '../../src/image/upload/upload.ts';
import { denoRuntime } from '../../src/runtime/deno.ts';
import { startCodec } from '../support/codec/codec.ts';
import { pngBomb } from '../support/images/hostile-images.ts';
import { photo, privatePhoto } from '../support/images/images.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

test('pictures are converted by worker processes, and one that hangs costs one request', async () => {
  const bench = await startCodec({ workers: 1, timeoutMs: 5000 });
  try {
    const { format, width, height } = await bench.convert(await privatePhoto('jpeg', 6), { format: 'avif' });
    assert.deepEqual({ format, width, height }, { format: 'avif', width: 96, height: 64 });
    await assert.rejects(bench.convert(pngBomb(17_000, 17_000, 1)), { code: 'image_limit' });
    const late = bench.convert(await photo(2300, 1800), { format: 'avif' });
    late.catch(() => {});
    await until(() => bench.codec.stats().busy === 1);
    // The other one is kept for cheap jobs, and which one has this job is not told.
    const { pids } = bench.codec.stats();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await assert.rejects(late, { code: 'conversion_timeout' });
    for (const pid of bench.codec.stats().pids) process.kill(pid, 'SIGCONT');
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
    const [file] = upload.files;
    assert.equal((await readFile(file?.path ?? '')).length, 100_000);
    assert.deepEqual([file?.filename, upload.fields.format], ['große Katze.png', 'png']);
    await upload.dispose();
    assert.deepEqual(await bench.files(), []);
  } finally {
    await bench.stop();
  }
});

test('a conversion process with the permissions it is given converts in its sandbox, and says how much memory it takes', async () => {
  await withFolder(async (folder) => {
    const [input, output] = [join(folder, 'in'), join(folder, 'made', 'out')];
    await mkdir(join(folder, 'made'));
    await writeFile(input, await photo(2000, 1500));
    await writeFile(output, '');
    const [program = '', ...args] = denoRuntime.selfCommand();
    const words = [...args, 'convert-sandbox', folder, String(2 ** 31)];
    const worker = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    const job = { input, output, format: 'avif', stripExif: true, maxWidth: 4096 };
    worker.stdin.write(
      `${JSON.stringify({ id: 1, job, limits: { maxPixels: 1e8, maxFrames: 1, heic: true } })}\n`,
    );
    const told: number[] = [];
    for await (const line of createInterface({ input: worker.stdout })) {
      const reply = JSON.parse(line) as WorkerReply;
      if ('memory' in reply) told.push(reply.memory);
      if ('id' in reply) {
        assert.deepEqual('converted' in reply && reply.converted.width, 2000);
        worker.stdin.end();
      }
    }
    assert.ok(told.length > 2 && Math.max(...told) > 50e6, `${told}`);
  });
});
