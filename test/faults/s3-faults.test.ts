import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createS3Blobs } from '../../adapters/s3/blobs.ts';
import type { BlobStore } from '../../src/image/store.ts';
import { type Fault, type FaultProxy, s3Error, startFaultProxy } from '../support/servers/fault-proxy.ts';
import { S3_CREDENTIALS, startS3 } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

setDefaultTimeout(180_000);

const CONTENT = Uint8Array.from({ length: 3_000_000 }, (_, index) => (index * 31) % 251);

let server: Awaited<ReturnType<typeof startS3>>;
let proxy: FaultProxy;
let blobs: BlobStore;
const log: unknown[] = [];

beforeAll(async () => {
  server = await startS3();
  proxy = await startFaultProxy(server.endpoint);
  const url = `s3://bucket/faults?endpoint=${proxy.url}&path_style=true`;
  blobs = createS3Blobs(url, S3_CREDENTIALS, (...line) => log.push(line));
});
beforeEach(() => put('a.png', CONTENT));
afterEach(() => {
  proxy.fault = () => null;
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

function put(key: string, content: Uint8Array): Promise<void> {
  return withFolder(async (folder) => {
    const path = join(folder, 'upload');
    await writeFile(path, content);
    await blobs.put(key, path, 'image/png').catch(async (error) => {
      await access(path);
      throw error;
    });
  });
}

async function bytesOf(key: string, range?: { start: number; end: number }): Promise<Uint8Array> {
  return new Response(await blobs.get(key, range)).bytes();
}

async function listed(): Promise<string[]> {
  const keys: string[] = [];
  for await (const batch of blobs.list()) keys.push(...batch.map(({ key }) => key));
  return keys;
}

const allCalls = () => [
  put('b.png', new Uint8Array(10)),
  blobs.get('a.png'),
  blobs.stat('a.png'),
  blobs.remove('none.png'),
  listed(),
];

/** The first `times` requests fail. */
function failFirst(times: number, fault: Fault): void {
  const until = proxy.count + times;
  proxy.fault = () => (proxy.count <= until ? fault : null);
}

test.each([
  ['500', s3Error(500, 'InternalError')],
  ['503', s3Error(503, 'SlowDown')],
  ['nothing', 'silence'],
] as const)('an S3 server that always answers %s makes everything unavailable in time', async (_, fault) => {
  proxy.fault = () => fault;
  const startedAt = performance.now();
  const results = await Promise.allSettled(allCalls());
  expect(results.map((result) => result.status === 'rejected' && result.reason.code)).toEqual(
    Array(5).fill('unavailable'),
  );
  expect(performance.now() - startedAt).toBeLessThan(30_000);
});

test('a failure that passes is not noticed', async () => {
  failFirst(1, s3Error(500, 'InternalError'));
  expect((await blobs.stat('a.png'))?.size).toBe(CONTENT.length);
  failFirst(1, s3Error(503, 'SlowDown'));
  await put('b.png', new Uint8Array(10));
  expect((await blobs.stat('b.png'))?.size).toBe(10);
});

test('a body that is cut is continued where it broke off, in a range too', async () => {
  failFirst(1, { cutAfterBytes: 1_000_000 });
  expect(Bun.hash(await bytesOf('a.png'))).toBe(Bun.hash(CONTENT));
  failFirst(1, { cutAfterBytes: 1000 });
  expect(await bytesOf('a.png', { start: 500, end: 900_500 })).toEqual(CONTENT.subarray(500, 900_500));
});

test('a body that is cut again and again ends in an error, never early, and the log says so', async () => {
  proxy.fault = () => ({ cutAfterBytes: 1000 });
  await expect(bytesOf('a.png')).rejects.toMatchObject({ code: 'unavailable' });
  expect(log.splice(0)).toEqual([
    ['error', 'file of an image broke off', { key: 'a.png', cause: expect.any(Error) }],
  ]);
});

test('a client that leaves while the server is silent leaves no connection and no word in the log, and nothing is asked for it', async () => {
  const closed = Promise.withResolvers<void>();
  proxy.fault = ({ socket }) => {
    socket.once('close', () => closed.resolve());
    return { cutAfterBytes: 1000, stalls: true };
  };
  const asked = proxy.count;
  const reader = ((await blobs.get('a.png')) as ReadableStream).getReader();
  await reader.read();
  await setImmediate();
  const next = reader.read();
  proxy.fault = () => s3Error(400, 'ExpiredToken');
  await reader.cancel();
  expect((await next).done).toBe(true);
  await closed.promise;
  await expect(blobs.stat('a.png')).rejects.toThrow('400');
  expect([proxy.count - asked, log]).toEqual([2, []]);
});

test('an answer names what the server said, and a file of another size both sizes', async () => {
  const said = (call: Promise<unknown>) => call.catch((error) => [error.message, error.cause?.message]);
  const other = said(blobs.get('a.png', undefined, 4));
  expect(await other).toEqual([
    'The file of this image is damaged.',
    'the object has 3000000 bytes instead of 4',
  ]);
  proxy.fault = () => s3Error(400, 'ExpiredToken');
  const expired = 'The image storage answers 400 ExpiredToken. Try again in a few seconds.';
  expect(await said(blobs.get('a.png'))).toEqual([expired, 'ExpiredToken']);
});

test('a blob that was replaced while its body was cut is not mixed with the new one', async () => {
  failFirst(1, { cutAfterBytes: 1_000_000 });
  const body = await blobs.get('a.png');
  await put(
    'a.png',
    CONTENT.map((byte) => byte ^ 255),
  );
  await expect(new Response(body).bytes()).rejects.toMatchObject({ code: 'unavailable' });
});

test('a large file is sent in parts and reads back; a failed part leaves nothing and keeps the file', async () => {
  const large = new Uint8Array(20 * 1024 * 1024 + 17).map((_, index) => (index * 7 + (index >> 13)) & 255);
  await put('large.png', large);
  expect((await blobs.stat('large.png'))?.size).toBe(large.length);
  expect(Bun.hash(await bytesOf('large.png'))).toBe(Bun.hash(large));
  proxy.fault = ({ url = '' }) => (url.includes('partNumber=2') ? s3Error(403, 'AccessDenied') : null);
  await expect(put('failed.png', large)).rejects.toMatchObject({ code: 'unavailable' });
  proxy.fault = () => null;
  expect(await blobs.stat('failed.png')).toBeNull();
});

test('a server that was down is used again when it is back', async () => {
  await server.kill();
  await expect(blobs.stat('a.png')).rejects.toMatchObject({ code: 'unavailable' });
  await server.start();
  expect((await blobs.stat('a.png'))?.size).toBe(CONTENT.length);
});

test('an answer that names another place is not followed', async () => {
  const paths: (string | undefined)[] = [];
  proxy.fault = ({ url }) => {
    paths.push(url);
    return { status: 307, body: '', location: `${proxy.url}/elsewhere` };
  };
  await expect(blobs.stat('a.png')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(blobs.get('a.png')).rejects.toMatchObject({ code: 'unavailable' });
  expect(paths.filter((path) => path?.includes('elsewhere'))).toEqual([]);
});

test('403 is never taken for an absent file, and the operator hears which rights may be missing', async () => {
  proxy.fault = () => s3Error(403, 'AccessDenied');
  const calls = [
    () => blobs.get('none.png'),
    () => blobs.stat('none.png'),
    () => blobs.move('none.png', 'b.png'),
  ];
  for (const call of calls) {
    const error = await call().catch((fault: unknown) => fault);
    expect(error).toMatchObject({
      code: 'unavailable',
      cause: { message: expect.stringMatching(/403 .*s3:ListBucket/) },
    });
  }
});
