import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { openRecords } from '../../adapters/open.ts';
import { MOST_PICTURES } from '../../src/image/albums/album.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { createReviews } from '../../src/image/review/reviews.ts';
import { createScanner } from '../../src/image/review/scan.ts';
import type { BlobStore } from '../../src/image/store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { SafeFetchError } from '../../src/lib/safe-fetch-errors.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { ADMIN, ADMIN_TOKEN, adminBrowser } from '../support/admin.ts';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { type RunningServer, withServer } from '../support/servers/running-server.ts';
import { image } from '../support/stores/records.ts';

const SECRET = 'a-secret-of-the-scanner';

interface Asked {
  type: string;
  data: { filename: string; hash: string; width: number; picture?: { media_type: string; base64: string } };
}

/** The operator's service: its verdict is in the name of the file. */
let service: ReturnType<typeof Bun.serve>;
const asked: Asked[] = [];
/** Lets the answers go for which the verdict is `slow`. */
const released = Promise.withResolvers<void>();
beforeAll(() => {
  service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.text();
      const id = request.headers.get('webhook-id');
      const signed = `${id}.${request.headers.get('webhook-timestamp')}.${body}`;
      const expected = `v1,${createHmac('sha256', SECRET).update(signed).digest('base64')}`;
      if (request.headers.get('webhook-signature') !== expected) return new Response(null, { status: 401 });
      const message = JSON.parse(body) as Asked;
      asked.push(message);
      const [verdict] = message.data.filename.split('.');
      if (verdict === 'silent') return new Promise(() => {});
      if (verdict === 'slow') await released.promise;
      if (verdict === 'broken') return new Response('not JSON');
      return Response.json({ verdict: verdict === 'slow' ? 'allow' : verdict });
    },
  });
});
afterAll(() => service.stop(true));
beforeEach(() => void asked.splice(0));

const withScan = (env: Record<string, string>, work: (server: RunningServer) => Promise<void>) =>
  withServer(
    {
      SERVICES: 'image',
      ADMIN_TOKEN,
      IMAGE_SCAN_URL: `http://127.0.0.1:${service.port}/scan`,
      IMAGE_SCAN_SECRET: SECRET,
      ...env,
    },
    work,
  );

async function upload({ send }: RunningServer, verdict: string, headers: Record<string, string> = {}) {
  const body = new Uint8Array(await quarters(900, 600).png().toBuffer());
  return send(`/api/upload?format=png&filename=${verdict}.png`, { method: 'POST', body, headers });
}

const admin = ({ send }: RunningServer, path: string) => send(path, { headers: ADMIN });

describe('a picture is asked about before it is stored', () => {
  test('by its hash alone unless more is to be sent: allowed ones are stored, blocked ones are not', () =>
    withScan({}, async (server) => {
      const allowed = await upload(server, 'allow');
      expect(allowed.status).toBe(201);
      const blocked = await upload(server, 'block');
      expect([blocked.status, (await json(blocked)).code]).toEqual([403, 'forbidden']);
      // Of the facts of a line, `LOG_ADDRESSES` hides the peer.
      const line = server.logged.find((one) => one.message === 'picture blocked by the scan');
      expect(Object.keys(line?.facts ?? {}).sort()).toEqual(['hash', 'peer']);
      expect(asked.map(({ type }) => type)).toEqual(['image.scan', 'image.scan']);
      const file = await server.send(`/i/${(await json(allowed)).id}.png`);
      const hash = createHash('sha256')
        .update(Buffer.from(await file.arrayBuffer()))
        .digest('hex');
      expect(asked[0]?.data).toMatchObject({ filename: 'allow.png', hash, width: 900 });
      for (const private_ of ['picture', 'phash']) expect(asked[0]?.data).not.toHaveProperty(private_);
      expect((await json(await server.send('/api/list'))).total).toBe(1);
    }));

  test('with the perceptual hash, a small version, or the whole', async () => {
    await withScan({ IMAGE_SCAN_SEND: 'look' }, async (server) => {
      expect((await upload(server, 'allow')).status).toBe(201);
      expect(asked.splice(0)[0]?.data).toHaveProperty('phash');
    });
    await withScan({ IMAGE_SCAN_SEND: 'preview' }, async (server) => {
      expect((await upload(server, 'allow')).status).toBe(201);
      const { media_type, base64 = '' } = asked[0]?.data.picture ?? {};
      const { format, width } = await sharp(Buffer.from(base64, 'base64')).metadata();
      expect([media_type, format, width]).toEqual(['image/jpeg', 'jpeg', 512]);
    });
    await withScan({ IMAGE_SCAN_SEND: 'file' }, async (server) => {
      expect((await upload(server, 'allow')).status).toBe(201);
      const { media_type, base64 = '' } = asked[1]?.data.picture ?? {};
      const hash = createHash('sha256').update(Buffer.from(base64, 'base64')).digest('hex');
      expect([media_type, hash]).toEqual(['image/png', String(asked[1]?.data.hash)]);
    });
  });

  test('and is refused without an answer, or stored where the operator wants that', async () => {
    await withScan({ IMAGE_SCAN_TIMEOUT: '300ms' }, async (server) => {
      for (const verdict of ['broken', 'silent', 'perhaps']) {
        const refused = await upload(server, verdict);
        expect([verdict, refused.status]).toEqual([verdict, 503]);
      }
      expect((await json(await server.send('/api/list'))).total).toBe(0);
    });
    await withScan({ IMAGE_SCAN_FAILURE: 'allow' }, async (server) => {
      expect((await upload(server, 'broken')).status).toBe(201);
      expect((await upload(server, 'block')).status).toBe(403);
    });
    await withScan({ IMAGE_SCAN_SECRET: 'another-secret-than-that' }, async (server) => {
      expect((await upload(server, 'allow')).status).toBe(503);
    });
  });
});

test.each([
  ['refuse', 4, 'unavailable'],
  ['allow', 12, 'allow'],
] as const)(
  'of pictures that wait for a silent service, on failure %s, it is asked about %d',
  async (onFailure, asked, end) => {
    let requests = 0;
    const codec = { convert: () => Promise.reject(new Error()) };
    const scan = createScanner({
      ...{ url: 'http://scan.test', send: 'hash', timeoutMs: 50, onFailure, folder: '' },
      ...{ codec, clock: systemClock, log() {}, sign: () => ({}) },
      async fetch() {
        requests++;
        await Bun.sleep(50);
        throw new SafeFetchError('timeout', 'timed out');
      },
    });
    const waiting = Array.from({ length: 12 }, () => scan(image(), '', ''));
    const codes = await Promise.all(waiting.map((one) => one.catch(({ code }) => code)));
    expect([requests, ...new Set(codes)]).toEqual([asked, end]);
  },
);

describe('a picture in review', () => {
  /** Every way that leads to an image. */
  async function seen({ send }: RunningServer, id: string): Promise<number[]> {
    const url = encodeURIComponent(`http://localhost/i/${id}`);
    const ways = [`/i/${id}`, `/i/${id}.png`, `/i/${id}.png?w=320`, `/api/info/${id}`, `/oembed?url=${url}`];
    return Promise.all(ways.map(async (path) => (await send(path)).status));
  }

  test('is shown only to the administrator, who approves it', () =>
    withScan({ PUBLIC_URL: 'http://localhost' }, async (server) => {
      const answer = await upload(server, 'review');
      expect(answer.status).toBe(202);
      const { id, review } = await json(answer);
      expect(review).toBe(true);
      expect(await seen(server, String(id))).toEqual([404, 404, 404, 404, 404]);
      expect((await json(await server.send('/api/list'))).total).toBe(0);
      expect((await json(await server.send('/api/search?q=review'))).total).toBe(0);
      expect((await json(await server.send('/api/stats'))).images).toBe(0);

      expect((await server.send('/api/admin/reviews')).status).toBe(401);
      expect((await server.send(`/api/admin/reviews/${id}`)).status).toBe(401);
      const { images } = await json(await admin(server, '/api/admin/reviews'));
      expect(images).toMatchObject([{ id, filename: 'review.png', width: 900 }]);
      const file = await admin(server, `/api/admin/reviews/${id}`);
      expect([file.headers.get('content-type'), file.headers.get('cache-control')]).toEqual([
        'image/png',
        'private, no-store',
      ]);
      const bytes = await file.arrayBuffer();

      const decide = (body: object) => server.post('/api/admin/reviews', body, ADMIN);
      expect((await decide({ id: 'nobody000000', verdict: 'allow' })).status).toBe(404);
      expect((await decide({ id, verdict: 'perhaps' })).status).toBe(400);
      expect((await json(await decide({ id, verdict: 'allow' }))).images).toEqual([]);
      expect(await seen(server, String(id))).toEqual([200, 200, 200, 200, 200]);
      expect(
        Buffer.from(await (await server.send(`/i/${id}.png`)).arrayBuffer()).equals(Buffer.from(bytes)),
      ).toBe(true);
      expect((await json(await server.send('/api/list'))).total).toBe(1);
      expect((await decide({ id, verdict: 'block' })).status).toBe(409);
    }));

  test('is gone for good when the administrator blocks it', () =>
    withScan({}, async (server) => {
      const { id } = await json(await upload(server, 'review'));
      const other = await json(await upload(server, 'review'));
      const after = await server.post('/api/admin/reviews', { id, verdict: 'block' }, ADMIN);
      const [held] = (await json(after)).images as { id: string; hash: string }[];
      expect(held?.id).toBe(String(other.id));
      // Nor does an approval that was interrupted bring back what was blocked since.
      await server.post('/api/admin/blocks', { hash: held?.hash }, ADMIN);
      const allowed = await server.post('/api/admin/reviews', { id: other.id, verdict: 'allow' }, ADMIN);
      expect([allowed.status, (await json(allowed)).code]).toEqual([403, 'forbidden']);
      expect((await admin(server, `/api/admin/reviews/${id}`)).status).toBe(404);
      expect((await server.send(`/i/${id}.png`)).status).toBe(404);
    }));

  test('is decided on the pages by the first of two moderators, and the second goes on to the next', () =>
    withScan({}, async (server) => {
      const visitor = adminBrowser(server);
      await visitor.login(ADMIN_TOKEN);
      const form = await visitor.form();
      const { id } = await json(await upload(server, 'review'));
      const decide = () => visitor.post('/admin/reviews', { form, id: String(id), verdict: 'block' });
      const answers = await Promise.all([decide(), decide()]);
      expect(answers.map(({ headers }) => headers.get('location'))).toEqual(Array(2).fill('/admin/reviews'));
      const shown = String((await json(await upload(server, 'review'))).id);
      const later = (verdict: string) => visitor.post('/admin/reviews', { form, id: shown, verdict });
      expect([(await later('allow')).status, (await later('allow')).status]).toEqual([303, 303]);
      // Who meant to keep it from everyone must hear that all see it.
      expect((await later('block')).status).toBe(409);
      const lost = String((await json(await upload(server, 'review'))).id);
      await Bun.$`find ${server.folder} -name ${`*${lost}*`} -delete`;
      expect((await visitor.post('/admin/reviews', { form, id: lost, verdict: 'allow' })).status).toBe(404);
    }));

  test('can be withdrawn by who uploaded it, by token or by the link to delete it', () =>
    withScan({}, async (server) => {
      const { id, delete_token } = await json(await upload(server, 'review'));
      const other = await json(await upload(server, 'review'));
      const withdraw = (token: unknown) =>
        server.send(`/api/delete/${id}`, { method: 'DELETE', headers: { 'x-delete-token': String(token) } });
      expect((await withdraw('x'.repeat(32))).status).toBe(403);
      expect((await withdraw(delete_token)).status).toBe(200);
      expect((await withdraw(delete_token)).status).toBe(404);
      const link = new URL(String(other.delete_url));
      expect((await server.send(link.pathname + link.search)).status).toBe(200);
      const body = new URLSearchParams({ token: String(other.delete_token) });
      expect((await server.send(link.pathname, { method: 'POST', body })).status).toBe(200);
      expect((await json(await admin(server, '/api/admin/reviews'))).images).toEqual([]);
      const files = await readdir(join(server.folder, 'images'), { recursive: true });
      expect(files.filter((file) => file.includes(String(id)) || file.includes(String(other.id)))).toEqual(
        [],
      );
    }));

  test('goes with the album that a guest has added it to', () =>
    withScan({}, async (server) => {
      const { id, token } = await json(await server.post('/api/albums', {}));
      const headers = { 'x-album-token': String(token) };
      const { url } = await json(await server.post(`/api/albums/${id}/invites`, {}, headers));
      const body = new FormData();
      body.set('image', new File([await quarters(900, 600).png().toBuffer()], 'review.png'));
      const { pathname, search } = new URL(String(url));
      expect((await server.send(pathname + search, { method: 'POST', body })).status).toBe(202);
      const removal = { method: 'DELETE', headers };
      const gone = await json(await server.send(`/api/albums/${id}?images=delete`, removal));
      expect(gone).toMatchObject({ removed_images: 1, kept_images: [] });
      expect((await json(await admin(server, '/api/admin/reviews'))).images).toEqual([]);
    }));

  test('stays in an album that makes room by leaving out what is gone', () =>
    withScan({}, async (server) => {
      const album = (await json(await server.post('/api/albums', {}))) as { id: string; token: string };
      const add = async (verdict: string) => {
        const body = new Uint8Array(await quarters(90, 60).png().toBuffer());
        const path = `/api/upload?album=${album.id}&filename=${verdict}.png`;
        const headers = { 'x-album-token': album.token };
        return (await json(await server.send(path, { method: 'POST', body, headers }))) as { id: string };
      };
      const held = await add('review');
      const records = await openRecords(`sqlite:${server.folder}/picpool.db`, { runtime: bunRuntime });
      const record = await records.albums.get(album.id);
      if (record === null) throw new Error('there is no album');
      const gone = Array.from({ length: MOST_PICTURES - 1 }, (_, n) => `${100_000_000_000 + n}`);
      const pictures = [...gone, record.pictures].join(' ');
      await records.albums.replace({ ...record, pictures, revision: record.revision + 1 });
      await records.close();
      const allowed = await add('allow');
      await server.post('/api/admin/reviews', { id: held.id, verdict: 'allow' }, ADMIN);
      const shown = await json(await server.send(`/api/albums/${album.id}`));
      expect(shown).toMatchObject({ images: [{ id: held.id }, { id: allowed.id }] });
    }));

  test('counts for the room that there is', () =>
    withScan({ IMAGE_MAX_STORAGE: '20KB' }, async (server) => {
      const statuses: number[] = [];
      while (statuses.length < 8) statuses.push((await upload(server, 'review')).status);
      expect([statuses[0], statuses.at(-1)]).toEqual([202, 507]);
    }));

  type ReviewsOptions = Parameters<typeof createReviews>[0];

  /** Reviews over a state in memory that begins with `held`, and stores that do everything. */
  function reviewsOf(held: ImageRecord[], changes: Partial<ReviewsOptions>) {
    const state = new Map([['image-reviews', JSON.stringify(held)]]);
    const parts: ReviewsOptions = {
      state: {
        get: async (key) => state.get(key) ?? null,
        setFenced: async (key, value) => state.set(key, value) === state,
      },
      locks: createLocalLocks(),
      blobs: { put() {}, move: async () => true, stat: async () => ({}) } as unknown as BlobStore,
      images: { insert: async () => {}, get: async () => null },
      clock: systemClock,
      onStored: () => {},
      discard: async () => {},
    };
    return { state, reviews: createReviews({ ...parts, ...changes }) };
  }

  test('counts as viewed when it is approved, so that it is not idle at once', async () => {
    const inserted: number[] = [];
    const { reviews } = reviewsOf([image({ id: 'a', lastAccess: 1 })], {
      images: {
        insert: async ({ lastAccess }) => void inserted.push(lastAccess),
        get: async () => null,
      },
      clock: { ...systemClock, now: () => 5000 },
    });
    await reviews.decide('a', 'allow');
    expect(inserted).toEqual([5000]);
  });

  test('is dropped when it expires', async () => {
    const removed: string[] = [];
    const stored = { stat: async () => ({}), remove: async (key: string) => void removed.push(key) };
    const held = [
      image({ id: 'short', expiresAt: 1000, format: 'webp' }),
      image({ id: 'long', expiresAt: null }),
    ];
    const { reviews } = reviewsOf(held, { blobs: stored as unknown as BlobStore });
    await reviews.removeExpired(999);
    expect(await reviews.list()).toHaveLength(2);
    await reviews.removeExpired(1000);
    expect((await reviews.list()).map(({ id }) => id)).toEqual(['long']);
    expect(removed).toEqual(['review/short.webp']);
  });

  test('is reported on a page to a browser without scripts', () =>
    withScan({}, async (server) => {
      const answer = await upload(server, 'review', { accept: 'text/html' });
      expect(answer.headers.get('content-type')).toContain('text/html');
      expect(await answer.text()).toContain('The operator reviews it first.');
    }));
});
