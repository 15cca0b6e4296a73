import { expect, test } from 'bun:test';
import type { KeptHeaders } from '../../src/http/kept-headers.ts';
import { createResponseCache, ENTRY_LENGTH, MAX_ANSWER_LENGTH } from '../../src/http/response-cache.ts';

const MOST = 10;
const text = (body: string, headers: Record<string, string> = {}) => new Response(body, { headers });

function open(version: () => string | Promise<string>) {
  const cache = createResponseCache({
    version,
    maxLength: MOST * (ENTRY_LENGTH + 100),
  });
  let made = 0;
  const asked = (headers: Record<string, string>, path: string, id = 'none') => {
    const url = `http://localhost${path}`;
    return {
      request: new Request(url, { headers }),
      url,
      authorization: headers.authorization ?? null,
      stamp(kept: KeptHeaders) {
        kept.stamp(id, null);
        return kept.headers;
      },
    };
  };
  return {
    cache,
    asked,
    made: () => made,
    ask: (
      headers: Record<string, string> = {},
      answer?: Record<string, string>,
      path = '/list',
      id?: string,
    ) => cache.answer(asked(headers, path, id), async () => text(`answer ${++made}`, answer)),
  };
}

test('a response is created once per version', async () => {
  let version = 'a';
  const { ask } = open(() => version);
  expect(await (await ask()).text()).toBe('answer 1');
  expect(await (await ask()).text()).toBe('answer 1');
  version = 'b';
  expect(await (await ask()).text()).toBe('answer 2');
});

test('concurrent requests share the creation of a response', async () => {
  const { ask, made } = open(() => 'a');
  const answers = await Promise.all([ask(), ask(), ask()]);
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(Array(3).fill('answer 1'));
  expect(made()).toBe(1);
});

test('a response that must not be stored is created for each request', async () => {
  const { ask } = open(() => 'a');
  const noStore = { 'cache-control': 'no-store' };
  const answers = await Promise.all([ask({}, noStore), ask({}, noStore), ask({}, noStore)]);
  expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(3);
  expect(ask()).toBeInstanceOf(Promise);
});

test('after a failure, the next request creates it', async () => {
  const { cache, asked, ask } = open(() => 'a');
  const failing = cache.answer(asked({}, '/list'), () => Promise.reject(new Error('broken')));
  const other = ask();
  await expect(failing).rejects.toThrow('broken');
  expect(await (await other).text()).toBe('answer 1');
});

test('a cached response comes at once, with the ID of each request', async () => {
  let version = 'a';
  const { ask } = open(() => version);
  const etag = (await ask()).headers.get('etag') ?? '';
  const first = ask({}, {}, '/list', 'first') as Response;
  const second = ask({ 'if-none-match': etag }, {}, '/list', 'second') as Response;
  expect([first.status, first.headers.get('x-request-id')]).toEqual([200, 'first']);
  expect([second.status, second.headers.get('x-request-id')]).toEqual([304, 'second']);
  version = 'b';
  expect(ask()).toBeInstanceOf(Promise);
});

test('a cached response waits for an asynchronous version, and fails with it', async () => {
  let version = () => Promise.resolve('a');
  const { ask, made } = open(() => version());
  await ask();
  const kept = ask();
  expect(kept).toBeInstanceOf(Promise);
  expect(await (await kept).text()).toBe('answer 1');
  expect(made()).toBe(1);
  version = () => Promise.reject(new Error('away'));
  await expect(ask()).rejects.toThrow('away');
});

test('the oldest responses leave when all together are too long, and a long one is never cached', async () => {
  const { ask, asked } = open(() => 'a');
  for (let place = 0; place <= MOST; place++) await ask({}, {}, `/list?${place}`);
  expect(await (await ask({}, {}, '/list?1')).text()).toBe('answer 2');
  expect(await (await ask({}, {}, '/list?0')).text()).toBe(`answer ${MOST + 2}`);
  await ask({}, {}, `/list?${'x'.repeat(2 * ENTRY_LENGTH)}`);
  expect(await (await ask({}, {}, `/list?${MOST}`)).text()).toBe(`answer ${MOST + 1}`);
  expect(await (await ask({}, {}, '/list?3')).text()).toBe(`answer ${MOST + 4}`);
  const cache = createResponseCache({ version: () => 'a' });
  const answer = async () => text('x'.repeat(MAX_ANSWER_LENGTH + 1));
  const long = () => cache.answer(asked({}, '/long'), answer);
  await long();
  expect(long()).toBeInstanceOf(Promise);
});
