import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStores, type Stores } from '../../adapters/open.ts';
import { copyAlbums } from '../../src/cli/copy-records.ts';
import { SERVICE_STATE } from '../../src/image/maintenance/service-time.ts';
import { createReviews } from '../../src/image/review/reviews.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { cli } from '../support/servers/cli.ts';
import { LIGHT, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { album, drafts, image } from '../support/stores/records.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { withFolderOfItsOwn } from '../support/stores/s3.ts';
import { sharedRedis, sharedS3 } from '../support/stores/services.ts';

const IMAGES = 6;
const PASSWORD = 'tea';
const PROXIES = 1500;
/** Closed on every machine. */
const NOBODY = 'http://127.0.0.1:9/';

/** In review. */
const HELD = image({
  id: 'InReview0001',
  size: 19,
  hash: createHash('sha256').update('a picture in review').digest('hex'),
});

/** With pictures, of which one is missing. */
const ALBUM = album({ id: 'Album0000001', pictures: 'InReview0001 nothing00000', revision: 3 });

let ids: string[];
/** Of a program that has the old stores. */
let env: Record<string, string>;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const data = join(folder, 'old');
  env = { DATA_DIR: data };
  const server = await startServer('bun', { ...LIGHT, RATE_LIMITS: 'off' }, data);
  ids = await Promise.all(Array.from({ length: IMAGES }, (_, n) => upload(server.url, n)));
  await server.stop();
  const old = await openStores(`sqlite:${data}/picpool.db`, `file:${data}/images`, { runtime: bunRuntime });
  await old.proxies.save(drafts(PROXIES));
  await old.albums.insert(ALBUM);
  const held = join(folder, 'held');
  await writeFile(held, 'a picture in review');
  await createReviews({ ...old, clock: systemClock, onStored: () => {}, discard: async () => {} }).hold(
    HELD,
    held,
  );
  await old.close();
}, 180_000);

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});
const folder = await sharedFolder();

async function upload(url: string, n: number): Promise<string> {
  const form = new FormData();
  form.set('image', new Blob([await photo(120 + n, 80, n)]), `picture ${n}.jpg`);
  if (n === 0) form.set('password', PASSWORD);
  const { id } = await json<{ id: string }>(await fetch(`${url}/api/upload`, { method: 'POST', body: form }));
  return id;
}

async function withNew<T>(name: string, work: (stores: Stores) => Promise<T>): Promise<T> {
  const stores = await openStores(`sqlite:${join(folder, name)}/new.db`, `file:${join(folder, name)}/files`, {
    runtime: bunRuntime,
  });
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}

const toNew = (name: string) => [
  'migrate',
  '--to-metadata',
  `sqlite:${join(folder, name)}/new.db`,
  '--to-blobs',
  `file:${join(folder, name)}/files`,
];

test('everything is copied to Redis and S3, where a server goes on with it', async () => {
  const [redis, s3] = await Promise.all([sharedRedis(), sharedS3()]);
  ends.push(redis.stop, s3.stop);
  const stores = { METADATA_URL: withPrefix(redis.url), BLOBS_URL: withFolderOfItsOwn(s3.url) };
  const credentials = {
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  };
  const args = ['migrate', '--to-metadata', stores.METADATA_URL, '--to-blobs', stores.BLOBS_URL];
  const { code, stdout, stderr } = await cli(args, { env: { ...env, ...credentials } });
  expect(stderr).not.toContain('fault');
  expect(stdout).toMatch(
    /^6 images \(6 copied now, [\d.]+ KB\), 1 image in review, 1,500 proxies, 1 album, \d+ other values: all there\n$/,
  );
  expect(code).toBe(0);
  const refused = await cli(['token', 'create', 'late'], { env });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('copied to redis://')]);
  // A server runs on them again, whose clock was ahead before.
  const urls = [`sqlite:${env.DATA_DIR}/picpool.db`, `file:${env.DATA_DIR}/images`] as const;
  const old = await openStores(...urls, { runtime: bunRuntime });
  await old.state.set(SERVICE_STATE, JSON.stringify({ at: 1, pauses: [], doubt: null }));
  await old.close();
  expect((await cli(['token', 'list'], { env })).code).toBe(0);
  expect((await cli(['token', 'list'], { env: { ...env, ...stores, ...credentials } })).code).toBe(0);
  for (const [option, url] of [
    ['--to-metadata', stores.METADATA_URL],
    ['--to-blobs', stores.BLOBS_URL],
  ] as const) {
    const alias = ['migrate', option, url.replace('127.0.0.1', 'localhost')];
    const same = await cli(alias, { env: { ...env, ...stores, ...credentials } });
    expect([same.code, same.stderr]).toEqual([2, expect.stringContaining('must differ from the old ones')]);
  }

  const server = await startServer('bun', {
    ...stores,
    ...credentials,
    ...LIGHT,
    RATE_LIMITS: 'off',
    PROXY_JUDGES: NOBODY,
  });
  ends.push(server.stop);
  const facts = await json(await fetch(`${server.url}/api/stats`));
  expect(facts).toMatchObject({ images: IMAGES, protected: 1, total: PROXIES });
  for (const id of ids.slice(1)) {
    const image = await fetch(`${server.url}/i/${id}.webp`);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/webp']);
    expect((await image.bytes()).length).toBeGreaterThan(0);
  }
  const locked = `${server.url}/i/${ids[0]}.webp`;
  expect((await fetch(locked)).status).toBe(401);
  expect((await fetch(locked, { headers: { 'x-image-password': PASSWORD } })).status).toBe(200);
});

test.each(['bun', 'deno'] as const)(
  'a copy that broke off is taken up on %s, and copies nothing twice',
  async (runtime) => {
    const name = `resumed-${runtime}`;
    const first = await cli(toNew(name), { runtime, env });
    expect([first.code, first.stdout.slice(0, 8)]).toEqual([0, '6 images']);
    const [lost = '', unrecorded = ''] = ids;
    await withNew(name, async ({ blobs, images, albums }) => {
      await albums.remove(ALBUM.id);
      await albums.insert({ ...ALBUM, revision: 2, title: 'as it was before' });
      await blobs.remove(`${lost}.webp`);
      await images.remove(unrecorded);
    });
    const again = await cli(toNew(name), { runtime, env });
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('6 images (2 copied now, ')]);
    const nothing = await cli(toNew(name), { runtime, env });
    expect(nothing.stdout).toContain('6 images (0 copied now, 0 B)');
    await withNew(name, async ({ proxies, images, state, blobs, albums }) => {
      expect(await albums.get(ALBUM.id)).toEqual(ALBUM);
      expect((await proxies.summary()).total).toBe(PROXIES);
      expect((await images.summary()).images).toBe(IMAGES);
      expect(await state.keys()).toContain('cookie-secret');
      expect(await blobs.stat(`${lost}.webp`)).not.toBeNull();
    });
  },
);

test('an album that was deleted between two runs, from the old store or the new one, does not come back', async () => {
  const [old, kept] = [album({ id: 'AlbumOld0001' }), album({ id: 'AlbumNew0001' })];
  const source = () =>
    openStores(`sqlite:${env.DATA_DIR}/picpool.db`, `file:${env.DATA_DIR}/images`, { runtime: bunRuntime });
  const before = await source();
  for (const one of [old, kept]) await before.albums.insert(one);
  await before.close();
  expect((await cli(toNew('albums'), { env })).stdout).toContain('3 albums');
  const after = await source();
  await after.albums.remove(old.id);
  await withNew('albums', ({ albums }) => albums.remove(kept.id));
  const again = await cli(toNew('albums'), { env });
  await after.albums.remove(kept.id);
  await after.close();
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('2 albums')]);
  await withNew('albums', async ({ albums }) => {
    const found = await Promise.all([ALBUM.id, old.id, kept.id].map(albums.get));
    expect(found.map((one) => one?.id)).toEqual([ALBUM.id, undefined, undefined]);
  });
});

test('a copy that is interrupted at an album that changed keeps it, and the next one brings the change', async () => {
  const stores = () => openStores('sqlite::memory:', `file:${env.DATA_DIR}/images`, { runtime: bunRuntime });
  const [from, to] = [await stores(), await stores()];
  const first = album({ id: 'AlbumCut0001', revision: 1 });
  await from.albums.insert(first);
  await copyAlbums(from.albums, to);
  for (const revision of [2, 3]) await from.albums.replace({ ...first, revision, title: 'changed' });
  const cut = async () => Promise.reject(new Error('cut'));
  for (const broken of ['insert', 'replace'])
    await copyAlbums(from.albums, { ...to, albums: { ...to.albums, [broken]: cut } }).catch(() => {});
  await copyAlbums(from.albums, to);
  expect(await to.albums.get(first.id)).toEqual({ ...first, revision: 3, title: 'changed' });
  await Promise.all([from.close(), to.close()]);
});

test('a damaged and a missing file are named, and all that there is is copied, with which the move is done', async () => {
  const copied = await cli(toNew('damaged'), { env });
  expect(copied.code).toBe(0);
  const [damaged = '', missing = ''] = ids;
  await withNew('damaged', async ({ blobs }) => {
    const path = join(folder, 'rubbish');
    await writeFile(path, 'rubbish');
    await blobs.put(`${damaged}.webp`, path, 'image/webp');
    await blobs.remove(`${missing}.webp`);
  });
  const from = [
    '--from-metadata',
    `sqlite:${join(folder, 'damaged')}/new.db`,
    '--from-blobs',
    `file:${join(folder, 'damaged')}/files`,
  ];
  // Rather than that all are lost, they are elsewhere.
  const elsewhere = [...from.slice(0, 3), `file:${join(folder, 'not-mounted')}`];
  expect((await cli([...toNew('unmounted'), ...elsewhere], { env: {} })).code).toBe(1);
  const { code, stdout, stderr } = await cli([...toNew('rest'), ...from], { env: {} });
  expect([code, stdout]).toEqual([4, expect.stringContaining('all there, but for what was lost')]);
  expect(stderr).toContain(
    `picpool: image ${damaged} has a file that differs from what was stored: the SHA-256 does not match\n`,
  );
  expect(stderr).toContain(`picpool: image ${missing} has no file\n`);
  await withNew('rest', async ({ images, blobs }) => {
    expect(await images.existing(ids)).toEqual(new Set(ids));
    const files = await Promise.all(ids.map((id) => blobs.stat(`${id}.webp`)));
    expect(files.map((file) => file !== null)).toEqual(ids.map((_, index) => index > 1));
  });
  await withNew('damaged', async ({ state }) => expect(await state.keys()).toContain('migrated-to'));
});

test('a file that was damaged in the new store is found, and copied again on request', async () => {
  await cli(toNew('verified'), { env });
  const key = `${ids[0]}.webp`;
  const whole = await withNew('verified', async ({ blobs }) => {
    const size = (await blobs.stat(key))?.size ?? 0;
    const path = join(folder, 'zeros');
    await writeFile(path, Buffer.alloc(size));
    await blobs.put(key, path, 'image/webp');
    return size;
  });
  const again = await cli([...toNew('verified'), '--verify'], { env });
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('6 images (1 copied now, ')]);
  await withNew('verified', async ({ blobs }) => {
    const body = await blobs.get(key);
    const bytes = body === null ? new Uint8Array() : await new Response(body).bytes();
    expect([bytes.length, bytes.some((byte) => byte !== 0)]).toEqual([whole, true]);
  });
});

test('files alone can move, and nothing is copied onto itself', async () => {
  const target = join(folder, 'files-alone');
  const { code, stdout } = await cli(['migrate', '--to-blobs', `file:${target}`], { env });
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^6 images \(6 copied now, [\d.]+ KB\), 1 image in review: all there\n$/),
  ]);
  const names = (await readdir(target, { recursive: true })).map((name) => name.split('/').at(-1));
  expect(names).toContain('review_InReview0001.png');
  const same = await cli(['migrate', '--to-blobs', `file:${env.DATA_DIR}/images`], { env });
  expect([same.code, same.stderr]).toEqual([2, expect.stringContaining('must differ from the old ones')]);
  const none = await cli(['migrate'], { env });
  expect(none.code).toBe(2);
  const nowhere = join(folder, 'nowhere');
  const empty = await cli(toNew('empty'), { env: { DATA_DIR: nowhere } });
  expect([empty.code, empty.stderr]).toEqual([
    2,
    expect.stringContaining(`no database at ${nowhere}/picpool.db`),
  ]);
  expect(await readdir(folder)).not.toContain('nowhere');
});
