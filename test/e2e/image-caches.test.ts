import { beforeAll, describe, expect, test } from 'bun:test';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cachedUrls } from '../../src/image/links.ts';
import { absent } from '../support/absent.ts';
import { type Balancer, readExample, startNginx } from '../support/balancer.ts';
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
      const raw = urls[2] ?? '';
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
