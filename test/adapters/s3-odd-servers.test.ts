import { afterAll, beforeAll, expect, setDefaultTimeout, setSystemTime, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createS3Blobs } from '../../adapters/s3/blobs.ts';
import { S3_CREDENTIALS, startS3 } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

setDefaultTimeout(120_000);

let s3: Awaited<ReturnType<typeof startS3>>;
/** How the server in front of the S3 server changes an answer. */
let change: (answer: Response, request: Request) => Response | Promise<Response>;
let front: ReturnType<typeof Bun.serve>;
const blobs = () =>
  createS3Blobs(s3.url.replace(s3.endpoint, `http://127.0.0.1:${front.port}`), S3_CREDENTIALS);

beforeAll(async () => {
  s3 = await startS3();
  front = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      // With the host that was signed.
      const body = request.body === null ? null : await request.bytes();
      const { method, headers } = request;
      const answer = await fetch(s3.endpoint + pathname + search, { method, headers, body });
      return change(answer, request);
    },
  });
});
afterAll(async () => {
  await front.stop(true);
  await s3.stop();
});

async function put(key: string, bytes: Uint8Array, to = blobs()): Promise<void> {
  await withFolder(async (folder) => {
    const path = join(folder, 'file');
    await writeFile(path, bytes);
    await to.put(key, path, 'image/png');
  });
}

const read = async (key: string, range?: { start: number; end: number }) => {
  const body = await blobs().get(key, range);
  return new Response(body).bytes();
};

const SMALL = new Uint8Array(3000).map((_, n) => n & 255);

test('a clock that was years ahead, and is right again, lets no call fail', async () => {
  change = (answer) => answer;
  const store = blobs();
  for (const ms of [0, 3e11, 0]) {
    setSystemTime(Date.now() + ms);
    await store.stat('dated').finally(() => setSystemTime());
    setSystemTime(Date.now() + ms);
    await put('dated', SMALL, store).finally(() => setSystemTime());
  }
});

test('a body whose length was removed on the way is whole', async () => {
  change = (answer) => answer;
  await put('small', SMALL);
  change = async (answer, { method }) => {
    if (method !== 'GET') return answer;
    const bytes = await answer.bytes();
    const pieces = async function* () {
      yield bytes;
    };
    const headers = new Headers(answer.headers);
    headers.delete('content-length');
    return new Response(pieces() as unknown as ReadableStream, { status: answer.status, headers });
  };
  expect(await read('small')).toEqual(SMALL);
  expect(await read('small', { start: 100, end: 200 })).toEqual(SMALL.subarray(100, 200));
});

test('the size of an object is known although HEAD does not tell it', async () => {
  change = (answer) => answer;
  await put('silent', SMALL);
  await put('silent-too', SMALL.subarray(1));
  change = (answer, { method }) => {
    if (method !== 'HEAD') return answer;
    const headers = new Headers(answer.headers);
    headers.delete('content-length');
    headers.set('transfer-encoding', 'chunked');
    return new Response(null, { status: answer.status, headers });
  };
  expect(await blobs().stat('silent')).toMatchObject({ key: 'silent', size: SMALL.length });
  expect(await blobs().stat('none')).toBeNull();
});

test.each([
  ['ignores a range', new Response(SMALL)],
  [
    'sends another range',
    new Response(SMALL.subarray(0, 100), { status: 206, headers: { 'content-range': 'bytes 0-99/3000' } }),
  ],
  [
    'sends less than the range',
    new Response(SMALL.subarray(100, 150), {
      status: 206,
      headers: { 'content-range': 'bytes 100-149/3000' },
    }),
  ],
])('a server that %s is not believed', async (_, other) => {
  change = (answer) => answer;
  await put('ranged', SMALL);
  change = (answer, { method, headers }) => (method === 'GET' && headers.has('range') ? other : answer);
  await expect(read('ranged', { start: 100, end: 200 })).rejects.toMatchObject({ code: 'unavailable' });
});

/** In front of the S3 server, for all that is not a deletion. */
const page = () =>
  new Response('<html>We will be back soon.</html>', { headers: { 'content-type': 'text/html' } });

test('a page that answers in place of the S3 server is not believed, and no file is removed for it', async () => {
  change = (answer) => answer;
  await put('placed', SMALL);
  change = (answer, { method }) => (method === 'DELETE' ? answer : page());
  const { move, list, stat, get } = blobs();
  const large = new Uint8Array(9 * 1024 * 1024);
  const attempts: [string, () => Promise<unknown>][] = [
    ['move', () => move('placed', 'elsewhere')],
    ['small', () => put('small', SMALL)],
    ['large', () => put('large', large)],
    ['list', () => Array.fromAsync(list())],
    ['stat', () => stat('placed')],
    ['get', () => get('placed')],
  ];
  for (const [name, attempt] of attempts)
    expect([name, await attempt().catch((error) => error.code)]).toEqual([name, 'unavailable']);
  change = (answer, { method }) => (method === 'PUT' || method === 'POST' ? page() : answer);
  await expect(put('large', large)).rejects.toMatchObject({ code: 'unavailable' });
  change = (answer) => answer;
  expect(await read('placed')).toEqual(SMALL);
});

test('a page that says 404 in place of the S3 server makes no file missing', async () => {
  const { move, remove, stat, get } = blobs();
  const of = (key: string) => [() => stat(key), () => get(key), () => move(key, 'moved'), () => remove(key)];
  const missing = (body: string) =>
    new Response(body, { status: 404, headers: { 'content-type': 'text/html' } });
  change = () => missing('<html>');
  for (const call of of('gone')) await expect(call()).rejects.toMatchObject({ code: 'unavailable' });
  // Some servers name the type of their XML wrongly.
  change = () => missing('<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>');
  expect(await get('gone')).toBeNull();
  change = (answer) => answer;
  expect(await Promise.all(of('gone').map((call) => call()))).toEqual([null, null, false, undefined]);
});

test('a file that the server copies slowly is moved', async () => {
  change = (answer) => answer;
  await put('slow-move', SMALL);
  change = async (answer, { method }) => {
    if (method === 'PUT') await Bun.sleep(4500);
    return answer;
  };
  expect(await blobs().move('slow-move', 'slowly-moved')).toBe(true);
  expect(await read('slowly-moved')).toEqual(SMALL);
});

test('a list that goes in circles ends', async () => {
  change = async (answer) => {
    const text = await answer.text();
    const more = '<IsTruncated>true</IsTruncated><NextContinuationToken>one</NextContinuationToken>';
    return new Response(text.replace(/<IsTruncated>.*?<\/IsTruncated>/, more), { headers: answer.headers });
  };
  let pages = 0;
  await expect(
    (async () => {
      for await (const _ of blobs().list()) if (++pages === 9) break;
    })(),
  ).rejects.toMatchObject({ code: 'unavailable' });
});

test('a file of several parts that is assembled slowly, or whose answer is lost, is stored', async () => {
  const large = new Uint8Array(9 * 1024 * 1024).fill(7);
  const isCompletion = ({ method, url }: Request) =>
    method === 'POST' && new URL(url).searchParams.has('uploadId');
  change = async (answer, request) => {
    if (isCompletion(request)) await Bun.sleep(2600);
    return answer;
  };
  await put('slow', large);
  let lost = 0;
  change = (answer, request) => {
    if (isCompletion(request) && lost++ === 0) return new Response('gateway', { status: 502 });
    return answer;
  };
  await put('lost', large);
  expect(lost).toBeGreaterThan(0);
  for (const key of ['slow', 'lost']) expect((await blobs().stat(key))?.size).toBe(large.length);
});
