import { beforeAll, describe, expect, test } from 'bun:test';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cachedUrls } from '../../src/image/links.ts';
import { absent } from '../support/absent.ts';
import { type Balancer, readExample, startNginx } from '../support/balancer.ts';
import { dayOfLooks, type Look } from '../support/day-of-looks.ts';
import type { UploadAnswer } from '../support/image-host.ts';
import { photo } from '../support/images.ts';
import { type RunningServer, runServer } from '../support/running-server.ts';
import { until } from '../support/services.ts';

/** nginx with the configuration of `examples/nginx-cache.conf` in front of the server. */
async function startCache(server: RunningServer, folder: string): Promise<Balancer> {
  const example = await readExample('nginx-cache.conf');
  return startNginx(
    example
      .replace('/var/cache/nginx/picpool', join(folder, 'cache'))
      .replace('127.0.0.1:3000', new URL(server.url).host),
  );
}

async function withCache(
  env: Record<string, string>,
  work: (cache: Balancer, upload: (query?: string) => Promise<UploadAnswer>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-cache-'));
  // The workers of nginx are another user's where root starts it.
  await chmod(folder, 0o755);
  const server = await runServer(env);
  const cache = await startCache(server, folder);
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
    await rm(folder, { recursive: true, force: true });
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
      await fetch(`${cache.url}/api/delete/${image.id}`, {
        method: 'DELETE',
        headers: { 'x-delete-token': image.delete_token },
      });
      expect(await look(raw)).toEqual([200, 'HIT']);
      for (const url of urls) await look(url.replace('/i/', '/purge/i/'));
      for (const url of [raw, `${raw}?w=160`]) expect((await look(url))[0]).toBe(404);
      expect(await look(own)).toEqual([200, 'HIT']);
    }));

  test('answers 95 of 100 looks of a day itself', () =>
    withCache({ RATE_LIMITS: 'off' }, async (cache, upload) => {
      const images: UploadAnswer[] = [];
      while (images.length < 60) images.push(await upload());
      const looks = dayOfLooks(6000, images.length, 21);
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
      await fetch(`${cache.url}/api/delete/${image.id}`, {
        method: 'DELETE',
        headers: { 'x-delete-token': image.delete_token },
      });
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
