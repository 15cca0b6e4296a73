import { beforeAll, expect, test } from 'bun:test';
import { createPicpool, type Picpool, PicpoolError, proxyUrl } from '../../clients/js/src/index.ts';
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

  const hidden = await images.upload(picture, { password: 'tea' });
  const refused = await images.image(hidden.id).catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: 'PicpoolError', status: 401, code: 'password_required' });
  expect((await images.image(hidden.id, 'tea')).protected).toBe(true);
  await images.deleteImage(hidden.id, hidden.delete_token);
  expect(images.image(hidden.id)).rejects.toThrow('There is no such image.');
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

test('events go on from the last one where the connection broke, and end with the signal', async () => {
  const asked: (string | null)[] = [];
  const event = (id: number) =>
    `retry: 1\n\nid: ${id}\ndata: {"id":"job",\ndata: "checked":${id}}\n\n: still here\n\n`;
  const picpool = createPicpool('http://localhost', {
    async fetch(_url, { headers }) {
      asked.push(new Headers(headers).get('last-event-id'));
      // The second connection breaks within an event.
      return new Response(asked.length === 2 ? `${event(2)}data: {"id":` : event(asked.length));
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

test('a proxy is written as clients take it', () => {
  expect(proxyUrl({ protocol: 'https', ip: '192.0.2.1', port: 80 })).toBe('http://192.0.2.1:80');
  expect(proxyUrl({ protocol: 'socks5', ip: '2001:db8::1', port: 1080 })).toBe('socks5://[2001:db8::1]:1080');
});

test('an answer that is not JSON, or was cut off, is an error of the client', async () => {
  const answering = (body: string) => createPicpool(BASE, { fetch: () => new Response(body) });
  for (const body of ['<p>Log in', '{"total": 1']) {
    const refused = await answering(body)
      .stats()
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'PicpoolError', status: 200, code: 'invalid_answer' });
  }
});
