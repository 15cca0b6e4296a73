import { beforeAll, expect, spyOn, test } from 'bun:test';
import type { Static } from '@sinclair/typebox';
import {
  createPicpool,
  type ImageInfo,
  type ListedImage,
  type Picpool,
  PicpoolError,
  type ProxyDetails,
  proxyUrl,
  type RefreshJob,
  type TestResult,
  throughPool,
  type Uploaded,
  type UploadOptions,
} from '../../clients/js/src/index.ts';
import type { infoAnswer, listAnswer, uploadAnswer } from '../../src/image/schemas.ts';
import type { jobSchema, proxyDetailsSchema, quickTestSchema } from '../../src/proxy/schemas.ts';
import type { ImageHost } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { createPoolServer, type PoolServer } from '../support/pool/server.ts';
import { drafts, image } from '../support/stores/records.ts';

const BASE = 'http://img.example';

const hosts = imageHosts();
let host: ImageHost;
let images: Picpool;
let picture: Blob;
beforeAll(async () => {
  host = await hosts.start();
  images = createPicpool(`${BASE}/`, { fetch: (url, init) => host.send(url.slice(BASE.length), init) });
  picture = new Blob([new Uint8Array(await photo(400, 300))]);
});

const EVENTS = { headers: { 'content-type': 'text/event-stream' } };
const stream = (text: string) => new Response(text, EVENTS);

/** An answer that begins and never ends. */
function stuck(text: string, init: ResponseInit, { signal }: RequestInit = {}, cancel = () => {}): Response {
  const start = (body: ReadableStreamDefaultController) => {
    body.enqueue(new TextEncoder().encode(text));
    signal?.addEventListener('abort', () => body.error(signal?.reason));
  };
  return new Response(new ReadableStream({ start, cancel }), init);
}

/** `never` if an answer of the server has fields that the client does not tell of; only what the client tells can be an `Answer`. */
type Tells<Answer extends Told, Told> =
  Exclude<keyof Answer, keyof Told | 'success'> extends never ? true : never;
void ([true, true, true, true, true, true] satisfies [
  Tells<Static<typeof uploadAnswer.schema>, Uploaded>,
  Tells<Static<typeof infoAnswer.schema>, ImageInfo>,
  Tells<Static<typeof listAnswer.schema>['images'][number], ListedImage>,
  Tells<Static<typeof proxyDetailsSchema>, ProxyDetails>,
  Tells<Static<typeof quickTestSchema>, TestResult>,
  Tells<Static<typeof jobSchema>, RefreshJob>,
]);

/** A client of a pool; what it asks for is noted. */
function clientOf(pool: PoolServer): { proxies: Picpool; asked: string[] } {
  const asked: string[] = [];
  const proxies = createPicpool('http://localhost', {
    token: 'the-token-of-the-administrator',
    fetch(url, init) {
      asked.push(`${init.method} ${url.slice('http://localhost'.length)}`);
      return pool.send(url.slice('http://localhost'.length), init);
    },
  });
  return { proxies, asked };
}

test('the client uploads with every option and progress, and reads, finds and deletes what it has uploaded', async () => {
  const steps: number[][] = [];
  const uploaded = await images.upload(picture, {
    format: 'png',
    maxWidth: 100,
    filename: 'a café.jpg',
    onProgress: (sent, total) => steps.push([sent, total]),
  });
  expect(uploaded).toMatchObject({ format: 'png', width: 100, filename: 'a café.jpg' });
  expect(steps.at(-1)?.[0]).toBe(steps.at(-1)?.[1]);
  expect((await Array.fromAsync(images.images('CAFE'))).map(({ id }) => id)).toEqual([uploaded.id]);
  expect((await images.imageFile(uploaded)).size).toBe(uploaded.size);

  const options = {
    visibility: 'unlisted',
    expiresIn: '2h',
    maxViews: 3,
    title: 'Tea',
    alt: 'A cup',
  } as const;
  const fleeting = await images.upload(picture, options);
  const { expires_at, ...kept } = await images.image(fleeting.id);
  expect(kept).toMatchObject({ visibility: 'unlisted', title: 'Tea', alt: 'A cup', views_left: 3 });
  expect(Date.parse(String(expires_at)) - Date.now()).toBeLessThan(7_200_001);

  const hidden = await images.upload(picture, { password: 'tea' });
  expect(hidden.filename).toBe('image');
  const refused = await images.image(hidden.id).catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: 'PicpoolError', status: 401, code: 'password_required' });
  expect((await images.image(hidden.id, 'tea')).protected).toBe(true);
  await images.deleteImage(hidden.id, hidden.delete_token);
  expect(images.image(hidden.id)).rejects.toThrow('There is no such image.');
});

test('a redirect gets no token, and is said to be one', async () => {
  const asked: string[] = [];
  const elsewhere = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      asked.push(url);
      return new Response();
    },
  });
  const place = `${elsewhere.url}api/delete/abc`;
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.redirect(place, 307) });
  const deleted = createPicpool(server.url, { token: 'a-token' }).deleteImage('abc', 'a-delete-token');
  const error = await deleted.catch((one: unknown) => one);
  expect(error).toMatchObject({ status: 307, code: 'redirected', message: expect.stringContaining(place) });
  expect(asked).toEqual([]);
  await Promise.all([server.stop(true), elsewhere.stop(true)]);
});

test('an upload with progress says how long it is: without, it counts as the largest', async () => {
  const lengths: (string | null)[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      lengths.push(request.headers.get('content-length'), String((await request.bytes()).length));
      return Response.json({ id: 'a', delete_token: 'b' });
    },
  });
  await createPicpool(server.url).upload(picture, { onProgress: () => {} });
  await server.stop(true);
  expect(lengths[0]).toBe(lengths[1] ?? '');
});

test('a password in any script opens the picture that it protects', async () => {
  const password = '茶 é';
  const hidden = await images.upload(picture, { password });
  expect((await images.image(hidden.id, password)).id).toBe(hidden.id);
  expect((await images.imageFile(hidden, password)).size).toBe(hidden.size);
});

/** Uploads to the host, with the answers lost on their way as each of `ways` says; what was sent is noted. */
async function uploadOver(
  ways: ((answer: Response) => Response | Promise<Response>)[],
  { retries = 2, ...options }: UploadOptions & { retries?: number },
) {
  const keys = new Set<string | null>();
  let calls = 0;
  const picpool = createPicpool(BASE, {
    retries,
    async fetch(url, init) {
      keys.add(new Headers(init.headers).get('idempotency-key'));
      const answer = await host.send(url.slice(BASE.length), init);
      return ways[calls++]?.(answer) ?? answer;
    },
  });
  const uploaded = await picpool.upload(picture, options).catch((error: PicpoolError) => error.code);
  const stored = await Array.fromAsync(images.images(options.filename));
  return { uploaded, stored: stored.map(({ id }) => id), keys: keys.size, calls };
}

const closed = () => Promise.reject(new TypeError('closed'));
const cut = async (answer: Response) => new Response((await answer.text()).slice(0, 99), { status: 201 });
const page = (status: number) => () => new Response('<h1>Bad', { status, headers: { 'retry-after': '0' } });

test('an upload whose answer was lost is repeated, and what was stored gets its delete token', async () => {
  const lost = { closed, cut, 502: page(502), 504: page(504) };
  const tried = Object.entries(lost).flatMap(([name, way]) =>
    [{}, { onProgress() {} }].map(async (more, index) => {
      const filename = `lost-${name}-${'xy'[index]}`;
      const { uploaded, stored, ...sent } = await uploadOver([way], { filename, ...more });
      expect(uploaded).toMatchObject({ id: stored[0] as string, delete_token: expect.any(String) });
      expect([stored.length, sent]).toEqual([1, { keys: 1, calls: 2 }]);
    }),
  );
  await Promise.all(tried);
});

test('it is repeated once, not at all with retries: 0 or after a refusal, and may have a key of its own; it waits for its turn', async () => {
  const outcome = async (...given: Parameters<typeof uploadOver>) => {
    const { uploaded, stored, calls } = await uploadOver(...given);
    return [uploaded, stored.length, calls];
  };
  const bad = page(502);
  expect(await outcome([bad, bad, bad], { filename: 'lost twice' })).toEqual(['http_502', 1, 2]);
  expect(await outcome([bad, bad], { filename: 'not again', retries: 0 })).toEqual(['http_502', 1, 1]);
  expect(await outcome([page(503)], { filename: 'busy' })).toEqual(['http_503', 1, 1]);
  expect(await outcome([bad, page(429)], { filename: 'busy later' })).toEqual([
    expect.objectContaining({ delete_token: expect.any(String) }),
    1,
    3,
  ]);
  const own = { filename: 'by key', idempotencyKey: crypto.randomUUID() };
  await uploadOver([bad, bad], own);
  const { uploaded, stored } = await uploadOver([], own);
  expect(uploaded).toMatchObject({ id: stored[0] as string });
  expect(stored).toHaveLength(1);
});

/** What a browser's `XMLHttpRequest` does that is answered so, one after the other. Status 0: the connection breaks. */
function browserRequest(answers: [status: number, responseText: string][], keys: Set<string>) {
  return class {
    status = 0;
    responseText = '';
    readonly upload = { onprogress: null };
    onload: (() => void) | null = null;
    onerror: (() => void) | null = null;
    open() {}
    setRequestHeader(name: string, value: string) {
      if (name === 'idempotency-key') keys.add(value);
    }
    getResponseHeader() {
      return '0';
    }
    send() {
      [this.status, this.responseText] = answers.shift() ?? [204, ''];
      if (this.status === 0) this.onerror?.();
      else this.onload?.();
    }
  };
}

test('in a browser, a lost answer is asked for again, a picture in review is an upload, and a page of something in between is not', async () => {
  const uploadIn = (...answers: [number, string][]) => {
    Object.assign(globalThis, { XMLHttpRequest: browserRequest(answers, keys) });
    return images.upload(picture, { onProgress: () => {} }).catch((error: unknown) => error);
  };
  const keys = new Set<string>();
  try {
    const delete_token = 'token';
    const whole = JSON.stringify({ id: 'abc', delete_token });
    expect(await uploadIn([202, whole])).toMatchObject({ delete_token });
    expect(await uploadIn([0, ''], [201, whole])).toMatchObject({ delete_token });
    expect(await uploadIn([502, '<h1>Bad'], [201, whole])).toMatchObject({ delete_token });
    expect(keys.size).toBe(3);
    const refused = await uploadIn([201, '<p>Log in'], [201, '<p>Log in']);
    expect(refused).toMatchObject({ code: 'invalid_answer', status: 201 });
  } finally {
    Reflect.deleteProperty(globalThis, 'XMLHttpRequest');
  }
});

test('no URL holds a delete token, which logs would keep', async () => {
  const asked: [string, string | null][] = [];
  const picpool = createPicpool(BASE, {
    fetch(url, { headers }) {
      asked.push([url, new Headers(headers).get('x-delete-token')]);
      return Response.json({ success: true, id: 'abc' });
    },
  });
  await picpool.deleteImage('abc', 'secret');
  await picpool.deleteImage('abc');
  expect(asked).toEqual([
    [`${BASE}/api/delete/abc`, 'secret'],
    [`${BASE}/api/delete/abc`, null],
  ]);
});

test('a page in place of a picture is not taken for its file', async () => {
  const portal = createPicpool(BASE, {
    fetch: () => new Response('<p>Log in', { headers: { 'content-type': 'text/html' } }),
  });
  expect(portal.imageFile({ id: 'abc', format: 'webp' })).rejects.toMatchObject({ code: 'invalid_answer' });
});

test('a file that breaks off is an error of the client', async () => {
  const body = () => new ReadableStream({ start: (file) => file.error(new TypeError('closed')) });
  const answer = () => new Response(body(), { headers: { 'content-type': 'image/webp' } });
  const cutting = createPicpool(BASE, { fetch: answer });
  expect(cutting.imageFile({ id: 'abc', format: 'webp' })).rejects.toMatchObject({ code: 'network' });
});

test('a signal that outlives its calls keeps nothing of them', async () => {
  const { signal } = new AbortController();
  const added = spyOn(signal, 'addEventListener');
  const removed = spyOn(signal, 'removeEventListener');
  for (let index = 0; index < 3; index++) await images.upload(picture, { signal });
  expect(added.mock.calls.length).toBe(removed.mock.calls.length);
});

test('a loop over pictures goes on over pages', async () => {
  const own = await hosts.start();
  for (let index = 0; index < 102; index++)
    await own.images.insert(image({ id: `many${String(index).padStart(8, '0')}` }));
  const picpool = createPicpool(BASE, { fetch: (url, init) => own.send(url.slice(BASE.length), init) });
  expect(new Set((await Array.fromAsync(picpool.images())).map(({ id }) => id)).size).toBe(102);
  await own.stop();
});

test('a loop over proxies asks for pages as it goes on, and tells each once', async () => {
  const pool = await createPoolServer();
  await pool.store.save(drafts(1200));
  const { proxies, asked } = clientOf(pool);
  const ids = new Set<number>();
  for await (const { id } of proxies.proxies({ protocol: ['http', 'socks5'] })) ids.add(id);
  expect(ids.size).toBe(1200);
  const page = (offset: number) => `GET /api/v1/proxies?protocol=http%2Csocks5&offset=${offset}&limit=500`;
  expect(asked).toEqual([page(0), page(500), page(1000)]);
  for await (const _ of proxies.proxies()) break;
  expect(asked).toHaveLength(4);
});

test('what the server refuses has its sentence, code and fields', async () => {
  const { proxies } = clientOf(await createPoolServer());
  const error = await proxies.someProxies(-1).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PicpoolError);
  expect(error).toMatchObject({ status: 400, code: 'invalid_parameter', details: [{ field: 'limit' }] });
});

test('a GET that came too early is sent again after the time that was named, a POST never', async () => {
  let calls = 0;
  const early = () =>
    Response.json(
      { error: 'Too many requests.', code: 'rate_limited' },
      { status: 429, headers: { 'retry-after': '0' } },
    );
  const fetch = async () => (++calls % 3 === 0 ? Response.json({ alive: 1 }) : early());
  const picpool = createPicpool('http://localhost', { fetch });
  expect(await picpool.stats()).toEqual({ alive: 1 });
  expect(calls).toBe(3);
  expect(picpool.refresh()).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 0 });
  expect(calls).toBe(4);
});

test('a time to wait may be a date, and one that is over a minute away is left to the caller', async () => {
  let calls = 0;
  const refusedUntil = (retryAfter: string) => {
    calls = 0;
    const fetch = () => {
      calls++;
      return new Response('', { status: 503, headers: { 'retry-after': retryAfter } });
    };
    return createPicpool('http://localhost', { fetch }).stats();
  };
  const inMs = (ms: number) => new Date(Date.now() + ms).toUTCString();
  expect(refusedUntil(inMs(-1000))).rejects.toMatchObject({ status: 503, retryAfter: 0 });
  expect(calls).toBe(3);
  const later = await refusedUntil(inMs(600_000)).catch((error: PicpoolError) => error.retryAfter);
  expect([Number(later) > 590, calls]).toEqual([true, 1]);
  // Timers of JavaScript end at once if they are asked to wait for longer than 24 days.
  expect(refusedUntil('3000000')).rejects.toMatchObject({ retryAfter: 3_000_000 });
  expect(calls).toBe(1);
});

test.each(['1.5', '-5', '+5'])(
  'a wait of %s is none, although JavaScript reads a date in it',
  async (wait) => {
    const fetch = () => new Response('', { status: 503, headers: { 'retry-after': wait } });
    const picpool = createPicpool('http://localhost', { fetch, retries: 0 });
    expect(await picpool.stats().catch((error: PicpoolError) => error.retryAfter)).toBe(null);
  },
);

test('events go on after a reverse proxy whose server is away, and end at a page of another program', async () => {
  const answers = [
    stream('retry: 1\nid: 1\ndata: {"checked":1}\n\n'),
    new Response('<h1>Bad Gateway', { status: 502 }),
    new Response('<h1>Gateway Time-out', { status: 504 }),
    stream('id: 2\ndata: {"checked":2}\n\n'),
    new Response('<p>Log in', { headers: { 'content-type': 'text/html' } }),
  ];
  const picpool = createPicpool('http://localhost', { fetch: () => answers.shift() ?? new Response() });
  const checked: number[] = [];
  const loop = (async () => {
    for await (const job of picpool.refreshEvents()) checked.push(job.checked);
  })();
  expect(await loop.catch((error: PicpoolError) => error.code)).toBe('invalid_answer');
  expect(checked).toEqual([1, 2]);
});

test('events go on from the last one where the connection broke, and end with the signal', async () => {
  const asked: (string | null)[] = [];
  const event = (id: number) =>
    `retry: 1\n\nid: ${id}\ndata: {"id":"job",\ndata: "checked":${id}}\n\n: still here\n\n`;
  const picpool = createPicpool('http://localhost', {
    async fetch(_url, { headers }) {
      asked.push(new Headers(headers).get('last-event-id'));
      // The second connection breaks within an event.
      return stream(asked.length === 2 ? `${event(2)}data: {"id":` : event(asked.length));
    },
  });
  const stop = new AbortController();
  const checked: number[] = [];
  const loop = (async () => {
    for await (const job of picpool.refreshEvents(stop.signal)) {
      checked.push(job.checked);
      if (checked.length === 3) stop.abort(new Error('enough'));
    }
  })();
  expect(await loop.catch((error: Error) => error.message)).toBe('enough');
  expect([checked, asked]).toEqual([
    [1, 2, 3],
    [null, '1', '2'],
  ]);
});

test.each([
  ['soon', 3000],
  ['0', 250],
  ['-1', 3000],
  ['1.5', 3000],
  ['99999999999', 60_000],
] as const)(
  'a server that says retry: %s, and then nothing for a minute, is asked for events again after %d ms',
  async (retry, expected) => {
    const { setTimeout: real } = globalThis;
    const waits: (number | undefined)[] = [];
    const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms?: number) => {
      waits.push(ms);
      return real(work, 0);
    }) as typeof setTimeout);
    let asked = 0;
    const silent = `retry: ${retry}\ndata: {"checked":1}\n\n`;
    const fetch = (_: string, init: RequestInit) =>
      asked++ === 0 ? stuck(silent, EVENTS, init) : Response.json({});
    await Array.fromAsync(createPicpool(BASE, { timeoutMs: 0, fetch }).refreshEvents()).catch(() => {});
    timers.mockRestore();
    expect(waits).toEqual([60_000, 60_000, expected]);
  },
);

test('JSON of another program is not believed', async () => {
  for (const body of [
    {},
    null,
    [],
    { success: true },
    { success: false, id: 'abc', alive: true, proxies: [], images: [] },
  ]) {
    const other = createPicpool(BASE, { fetch: () => Response.json(body) });
    for (const asked of [
      () => other.deleteImage('abc'),
      () => other.someProxies(1),
      () => other.images().next(),
      () => other.refresh(),
      () => other.upload(picture),
      () => other.image('abc'),
      () => other.proxy(1),
      () => other.testProxy({ ip: '192.0.2.1', port: 80, protocol: 'http' }),
    ]) {
      expect(await asked().catch(({ code }: PicpoolError) => code)).toBe('invalid_answer');
    }
  }
});

test('proxies are those for the scheme of the site, and not blamed for a mistake of the caller', async () => {
  const pool = await createPoolServer();
  await pool.store.save(drafts(3));
  const { proxies, asked } = clientOf(pool);
  const send = async () => new Response();
  const listed = (protocol: string) => `GET /api/v1/proxies?protocol=${protocol}&limit=5`;
  const mistaken = throughPool(proxies, 'http://site.test/', send, {
    isBan: () => {
      throw new TypeError('a mistake');
    },
  });
  expect(await mistaken.catch((error: Error) => error.message)).toBe('a mistake');
  expect(asked).toEqual([listed('http')]);
  for (const filter of [{}, { protocol: 'socks5' as const }]) {
    await throughPool(proxies, 'https://site.test/', send, { filter }).catch(() => {});
  }
  expect(asked.filter((line) => line.startsWith('GET')).slice(1)).toEqual([
    listed('https'),
    listed('socks5'),
  ]);
});

test('a caller who leaves does not wait for the list of proxies, and ends it', async () => {
  const leaving = new AbortController();
  const asked = Promise.withResolvers<AbortSignal | null | undefined>();
  const busy = (_url: string, init: RequestInit) => {
    asked.resolve(init.signal);
    return new Response('', { status: 429, headers: { 'retry-after': '59' } });
  };
  const picpool = createPicpool(BASE, { fetch: busy });
  const { signal } = leaving;
  const sent = throughPool(picpool, 'http://site.test/', async () => new Response(), { signal });
  const listing = await asked.promise;
  leaving.abort(new Error('left'));
  expect(await sent.catch((error: Error) => error.message)).toBe('left');
  expect(listing?.aborted).toBe(true);
});

test('what fails because its caller has left is not held against the proxy', async () => {
  const pool = await createPoolServer();
  await pool.store.save(drafts(3));
  const { proxies, asked } = clientOf(pool);
  const leaving = new AbortController();
  const { signal } = leaving;
  const send = async () => {
    leaving.abort(new Error('left'));
    throw signal.reason;
  };
  expect(throughPool(proxies, 'http://site.test/', send, { signal })).rejects.toThrow('left');
  expect(asked).toHaveLength(1);
});

test('a report, which nobody needs, holds its sender up for 5 seconds at most, however long its error is', async () => {
  const timers = spyOn(globalThis, 'setTimeout');
  const sent: string[] = [];
  const answering = (body?: string) => ({
    fetch(_: string, init: RequestInit) {
      sent.push(String(init.body));
      return body === undefined ? stuck('{', {}, init) : new Response(body);
    },
  });
  const picpool = createPicpool(BASE, answering('{"success":true}'));
  await picpool.report({ id: 1 }, { ok: false, error: 'x'.repeat(3000) });
  await picpool.reportGateway({ session: 'abc', target: 'site.test', ok: true });
  const hasty = createPicpool(BASE, { ...answering(), timeoutMs: 10 });
  const late = await hasty.report({ id: 1 }, { ok: true }).catch((error: PicpoolError) => error.message);
  const limits = timers.mock.calls.map(([, ms]) => ms);
  timers.mockRestore();
  expect([limits, late]).toEqual([[5000, 5000, 10], `${BASE} does not respond: no response within 0.01 s.`]);
  expect(JSON.parse(sent[0] ?? '').error).toHaveLength(2000);
});

test('of the responses that refuse an exit, only the last one keeps its connection', async () => {
  const pool = await createPoolServer();
  await pool.store.save(drafts(5));
  const cancelled: unknown[] = [];
  // A copy of it is still there.
  const shared = () => new Promise<void>((resolve) => cancelled.push(resolve));
  const ofNode = { status: 403, headers: new Headers(), body: {} } as Response;
  let tries = 0;
  const send = async () => (tries++ === 0 ? ofNode : stuck('', { status: 403 }, {}, shared));
  await throughPool(clientOf(pool).proxies, 'http://site.test/', send, { tries: 3 });
  expect([tries, cancelled.length]).toEqual([3, 1]);
});

test('a proxy is written as clients take it', () => {
  expect(proxyUrl({ protocol: 'https', ip: '192.0.2.1', port: 80 })).toBe('http://192.0.2.1:80');
  expect(proxyUrl({ protocol: 'socks5', ip: '2001:db8::1', port: 1080 })).toBe('socks5://[2001:db8::1]:1080');
});

test('an answer that is not JSON, or was cut off, is an error of the client', async () => {
  const closed = createPicpool(BASE, { fetch: () => Promise.reject(new TypeError('It is closed.')) });
  expect(closed.stats()).rejects.toThrow(/respond: It is closed\.$/);
  const answering = (body: string) => createPicpool(BASE, { fetch: () => new Response(body) });
  for (const body of ['<p>Log in', '{"total": 1']) {
    const refused = await answering(body)
      .stats()
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'PicpoolError', status: 200, code: 'invalid_answer' });
  }
});
