import { beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { cachedUrls } from '../../src/image/records/links.ts';
import { absent } from '../support/absent.ts';
import { dayOfLooks, type Look } from '../support/images/day-of-looks.ts';
import type { UploadAnswer } from '../support/images/image-host.ts';
import { photo } from '../support/images/images.ts';
import type { Balancer } from '../support/servers/balancer.ts';
import { EXAMPLES } from '../support/servers/examples.ts';
import { runServer } from '../support/servers/running-server.ts';
import { until } from '../support/stores/services.ts';

async function withCache(
  env: Record<string, string>,
  work: (cache: Balancer, upload: (query?: string) => Promise<UploadAnswer>) => Promise<void>,
): Promise<void> {
  const server = await runServer(env);
  const cache = await EXAMPLES['nginx-cache.conf'].start(new URL(server.url).host);
  const upload = async (query = '') => {
    const answer = await fetch(`${server.url}/api/upload?${query}`, { method: 'POST', body: picture });
    expect(answer.status).toBe(201);
    return (await answer.json()) as UploadAnswer;
  };
  try {
    await work(cache, upload);
  } finally {
    await cache.stop();
    await server.stop();
  }
}

function requestOf({ kind, accept }: Look, image: UploadAnswer, base: string): [string, RequestInit] {
  const path =
    {
      auto: `/i/${image.id}?auto`,
      version: `/i/${image.id}.${image.format}?w=160`,
    }[String(kind)] ?? `/i/${image.id}.${image.format}`;
  const more = { range: { range: 'bytes=0-99' }, known: { 'if-none-match': '"known"' } }[String(kind)];
  return [base + path, { method: kind === 'head' ? 'HEAD' : 'GET', headers: { accept, ...more } }];
}

let picture: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  picture = new Uint8Array(await photo(400, 200));
});

const look = async (url: string) => {
  const answer = await fetch(url);
  await answer.bytes();
  return [answer.status, answer.headers.get('x-cache')];
};

const remove = (base: string, { id, delete_token: token }: UploadAnswer) =>
  fetch(`${base}/api/delete/${id}`, { method: 'DELETE', headers: { 'x-delete-token': token } });

/** Asks for a path as it is written, which `fetch` would tidy. */
function rawStatus(base: string, path: string): Promise<number> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: img.example\r\nAccept: image/jpeg\r\nConnection: close\r\n\r\n`,
      ),
    );
    let head = '';
    socket.on('data', (piece) => {
      if (head.length < 100) head += piece.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(Number(head.split(' ')[1])));
  });
}

describe.skipIf(absent('nginx'))('a cache in front', () => {
  test('answers what it has, and forgets what it is told has gone or changed', () =>
    withCache({}, async (cache, upload) => {
      const { pathname } = new URL((await upload()).raw_url);
      const own = new URL(pathname, cache.url).href;
      const image = await upload();
      const urls = cachedUrls(cache.url, { ...image, format: 'webp' });
      const raw = urls.find((url) => url.endsWith('.webp')) ?? '';
      for (const url of [own, raw, `${raw}?w=160`]) {
        expect(await look(url)).toEqual([200, 'MISS']);
        expect(await look(url)).toEqual([200, 'HIT']);
      }
      await remove(cache.url, image);
      expect(await look(raw)).toEqual([200, 'HIT']);
      for (const url of urls) await look(url.replace('/i/', '/purge/i/'));
      for (const url of [raw, `${raw}?w=160`]) expect((await look(url))[0]).toBe(404);
      expect(await look(own)).toEqual([200, 'HIT']);
    }));

  test('has nothing left of a deleted picture, however its link was spelt', () =>
    withCache({}, async (cache, upload) => {
      const image = await upload('format=jpeg');
      const path = `/i/${image.id}`;
      const spellings = [
        ...[
          '.jpg',
          '.jpeg',
          '.jpe',
          '.jfif',
          '.JPG',
          '.jpg?x=1',
          '.jpg?',
          '.jpg?w=160',
          '.jpg?w=160&download=1',
        ],
        ...[
          '.jpg?download=1',
          '.jpg?download=true',
          '.jpg?download=1&x',
          '.jpg?w=0160',
          '?auto',
          '?auto=1',
          '?auto=2',
        ],
        ...['?auto&download=1', '?x&auto', '/preview.jpg', '/preview.jpg?x=1', `.jpg?/i/${image.id}.jpg`],
      ].map((rest) => path + rest);
      spellings.push(
        `/i/zzzzzzzzzzzz.jpg?x=/i/${image.id}.jpg`,
        path.replace('/i/', '//i/'),
        `/i/./${image.id}.jpg`,
      );
      spellings.push(
        `/i/%${image.id.charCodeAt(0).toString(16)}${image.id.slice(1)}.jpg`,
        `/x/../i/${image.id}.jpg`,
      );
      const raw = (spelling: string) => rawStatus(cache.url, spelling);
      for (const spelling of [...spellings, ...spellings]) await raw(spelling);
      expect(await look(`${cache.url}${path}.jpg`)).toEqual([200, 'HIT']);
      await remove(cache.url, image);
      const urls = cachedUrls(cache.url, { ...image, format: 'jpeg' });
      for (const url of urls) await look(url.replace('/i/', '/purge/i/'));
      const left: string[] = [];
      for (const spelling of spellings) if ((await raw(spelling)) < 400) left.push(spelling);
      expect(left).toEqual([]);
    }));

  test('answers 95 of 100 looks of a day itself', () =>
    withCache({ RATE_LIMITS: 'off' }, async (cache, upload) => {
      const images: UploadAnswer[] = [];
      while (images.length < 30) images.push(await upload());
      const looks = dayOfLooks(4000, images.length, 21);
      const queue = looks.values();
      const told: Record<string, number> = {};
      const visitor = async () => {
        for (const look of queue) {
          const answer = await fetch(...requestOf(look, images[look.picture] as UploadAnswer, cache.url));
          await answer.bytes();
          const status = answer.headers.get('x-cache') ?? '';
          told[status] = (told[status] ?? 0) + 1;
        }
      };
      await Promise.all(Array.from({ length: 8 }, visitor));
      expect((told.HIT ?? 0) / looks.length, JSON.stringify(told)).toBeGreaterThan(0.95);
    }));

  test('forgets by itself what is older than the server allows', () =>
    withCache({ IMAGE_CACHE_MAX_AGE: '1s' }, async (cache, upload) => {
      const image = await upload();
      const raw = new URL(new URL(image.raw_url).pathname, cache.url).href;
      expect(await look(raw)).toEqual([200, 'MISS']);
      await remove(cache.url, image);
      await until(async () => (await look(raw))[0] === 404);
    }));

  test('keeps nothing of a picture that may be seen only so often', () =>
    withCache({}, async (cache, upload) => {
      const image = await upload('max_views=2');
      const raw = new URL(new URL(image.raw_url).pathname, cache.url).href;
      expect(await look(raw)).toEqual([200, 'MISS']);
      expect(await look(raw)).toEqual([200, 'MISS']);
      expect((await look(raw))[0]).toBe(410);
    }));
});
