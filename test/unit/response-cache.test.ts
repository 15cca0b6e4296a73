import { expect, test } from 'bun:test';
import { createResponseCache } from '../../src/http/response-cache.ts';

const URL_OF_ALL = 'http://localhost/list';
const request = (headers: Record<string, string> = {}) => new Request(URL_OF_ALL, { headers });
const text = (body: string, headers: Record<string, string> = {}) => new Response(body, { headers });

function open(version: () => string | Promise<string>) {
  const cache = createResponseCache({ version, maxEntries: 10, maxAnswerLength: 100 });
  let made = 0;
  return {
    cache,
    made: () => made,
    ask: (headers?: Record<string, string>, answer?: Record<string, string>) =>
      cache.answer(request(headers), '/list', async () => text(`answer ${++made}`, answer)),
  };
}

test('an answer is made once for each version', async () => {
  let version = 'a';
  const { ask } = open(() => version);
  expect(await (await ask()).text()).toBe('answer 1');
  expect(await (await ask()).text()).toBe('answer 1');
  version = 'b';
  expect(await (await ask()).text()).toBe('answer 2');
});

test('requests that come at the same time share the making of an answer', async () => {
  const { ask, made } = open(() => 'a');
  const answers = await Promise.all([ask(), ask(), ask()]);
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(Array(3).fill('answer 1'));
  expect(made()).toBe(1);
});

test('what may not be stored is made for each', async () => {
  const { ask, cache } = open(() => 'a');
  const noStore = { 'cache-control': 'no-store' };
  const answers = await Promise.all([ask({}, noStore), ask({}, noStore), ask({}, noStore)]);
  expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(3);
  expect(cache.matchNow(request(), URL_OF_ALL, () => 'id')).toBeNull();
});

test('when making fails, the next one makes it', async () => {
  const { cache, ask } = open(() => 'a');
  const failing = cache.answer(request(), '/list', () => Promise.reject(new Error('broken')));
  const other = ask();
  await expect(failing).rejects.toThrow('broken');
  expect(await (await other).text()).toBe('answer 1');
});

test('a kept answer comes at once, with the id of each request', async () => {
  let version = 'a';
  const { ask, cache } = open(() => version);
  expect(cache.matchNow(request(), URL_OF_ALL, () => 'none')).toBeNull();
  const etag = (await ask()).headers.get('etag') ?? '';
  const first = cache.matchNow(request(), URL_OF_ALL, () => 'first')?.response;
  const second = cache.matchNow(request({ 'if-none-match': etag }), URL_OF_ALL, () => 'second')?.response;
  expect([first?.status, first?.headers.get('x-request-id')]).toEqual([200, 'first']);
  expect([second?.status, second?.headers.get('x-request-id')]).toEqual([304, 'second']);
  version = 'b';
  expect(cache.matchNow(request(), URL_OF_ALL, () => 'third')).toBeNull();
});

test('nothing comes at once while the version has to be asked for, nor when that fails', async () => {
  let version = () => Promise.resolve('a');
  const { ask, cache } = open(() => version());
  await ask();
  expect(cache.matchNow(request(), URL_OF_ALL, () => 'id')).toBeNull();
  version = () => Promise.reject(new Error('away'));
  expect(cache.matchNow(request(), URL_OF_ALL, () => 'id')).toBeNull();
  await expect(ask()).rejects.toThrow('away');
});
