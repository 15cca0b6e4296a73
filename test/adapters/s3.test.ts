import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createS3Blobs } from '../../adapters/s3/blobs.ts';
import { s3Conformance } from '../support/stores/s3.ts';
import { S3_CREDENTIALS, sharedS3, startS3 } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

setDefaultTimeout(180_000);

let shared: Awaited<ReturnType<typeof sharedS3>>;
let own: Awaited<ReturnType<typeof startS3>>;
beforeAll(async () => {
  [shared, own] = await Promise.all([sharedS3(), startS3()]);
});
afterAll(() => Promise.all([shared.stop(), own.stop()]));

describe('with the bucket in the path', () => {
  s3Conformance(test, async () => shared);
});

describe('with the bucket in the name of the host, below a prefix', () => {
  const virtualUrl = () => own.virtualUrl.replace('//bucket', '//bucket/several/folders%20deep');
  s3Conformance(test, async () => ({ url: virtualUrl(), credentials: S3_CREDENTIALS }));

  test('a file of several parts is found with the other form of URL, a range over two is complete, and neither is sent once it was cut', async () => {
    const inPath = own.url.replace('//bucket', '//bucket/several/folders%20deep');
    const [virtual, path] = [virtualUrl(), inPath].map((url) => createS3Blobs(url, S3_CREDENTIALS));
    const large = new Uint8Array(9 * 1024 * 1024).map((_, n) => (n * 7 + (n >> 13)) & 255);
    await withFolder(async (folder) => {
      const file = join(folder, 'large');
      await writeFile(file, large);
      await virtual?.put('large', file, 'image/png');
    });
    const read = async (range?: { start: number; end: number }) =>
      Bun.hash(await new Response(await path?.get('large', range, range ? undefined : large.length)).bytes());
    expect(await read()).toBe(Bun.hash(large));
    const over = { start: 8 * 1024 * 1024 - 1000, end: 8 * 1024 * 1024 + 1000 };
    expect(await read(over)).toBe(Bun.hash(large.subarray(over.start, over.end)));
    await truncate(join(own.folder, 'several/folders deep/large'), 8 * 1024 * 1024);
    for (const part of [over, undefined])
      await expect(read(part)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
