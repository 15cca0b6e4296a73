import { beforeEach, describe, expect, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import { MOST_PICTURES } from '../../src/image/albums/album.ts';
import { CLIENTS } from '../../src/image/clients/clients.ts';
import { type Album, albumsOf, fill, formOf, withToken } from '../support/images/albums.ts';
import { DAY_MS, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';
import { PNG, withServer } from '../support/servers/running-server.ts';
import { shared, sharedFolder } from '../support/shared.ts';

const hosts = imageHosts();
const folder = await sharedFolder();
/** Breaks off the request under way once its picture is stored. */
let leaving: AbortController | null = null;
/** Called before a picture is removed. */
let whenRemoved: (id: string) => Promise<void> = async () => {};
/**
 * How the store of albums fails. `unheard`: it repeats what it has done. `leaving`: it does that, and is away from then on. `late`:
 * it has not done what it may still do.
 */
let trouble: 'none' | 'unheard' | 'leaving' | 'away' | 'late' = 'none';
let late = async () => true;
const picture = new Uint8Array(await photo(60, 40));
const host = shared(() =>
  hosts.start({
    adminToken: 'admin-token',
    change: ({ log, images, albums }) => ({
      albums: {
        ...albums,
        async replace(album) {
          const known = trouble;
          if (known === 'late') late = () => albums.replace(album);
          const isDone = known !== 'away' && known !== 'late' && (await albums.replace(album));
          if (known === 'none') return isDone;
          trouble = known === 'leaving' || known === 'away' ? 'away' : 'none';
          if (known === 'unheard') return false;
          throw new AppError('unavailable', inEnglish('no answer'));
        },
      },
      images: {
        ...images,
        async remove(id) {
          await whenRemoved(id);
          return images.remove(id);
        },
      },
      log: (level, message, facts) => {
        if (message === 'image stored') leaving?.abort();
        log?.(level, message, facts);
      },
    }),
  }),
);

const { make: makeAlbum, idsIn } = albumsOf(() => host);
interface Invited {
  id: string;
  max: number;
  used: number;
  url: string;
}

const GUEST = '203.0.113.44';
const pathIn = (url: string) => url.replace('http://img.example', '');
const invite = (album: Album, wish: object = {}) =>
  host.send(`/api/albums/${album.id}/invites`, asJson('POST', wish, withToken(album)));
const invited = async (album: Album, wish: object = {}) => {
  const answer = await invite(album, wish);
  expect(answer.status).toBe(201);
  return json<Invited>(answer);
};
const add = ({ url }: Invited, body = formOf(), init: RequestInit = {}) =>
  host.send(pathIn(url), { method: 'POST', body, ...init }, GUEST);
const usedOf = async (album: Album) => {
  const answer = await host.send(`/api/albums/${album.id}/invites`, { headers: withToken(album) });
  return (await json<{ invites: Invited[] }>(answer)).invites.map(({ used }) => used);
};

describe('an invitation', () => {
  let album: Album;
  beforeEach(async () => {
    album = await makeAlbum();
  });

  test('takes pictures without options, unlisted, into its album, and its page works without scripts', async () => {
    const link = await invited(album, { expires_in: '2d', max: 3 });
    const page = await host.send(pathIn(link.url), { headers: { accept: 'text/html' } });
    const text = await page.text();
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
    expect(text).toContain(`action="${pathIn(link.url)}"`);
    expect(text).toContain('data:image/svg+xml;base64,');

    const form = formOf();
    for (const [name, value] of Object.entries({ visibility: 'public', password: 'x', expires_in: '1h' }))
      form.set(name, value);
    const answer = await host.send(
      `${pathIn(link.url)}&visibility=public&max_views=1`,
      { method: 'POST', body: form },
      GUEST,
    );
    expect(answer.status, await answer.clone().text()).toBe(201);
    const stored = await json<UploadAnswer & { visibility: string; album: string; max_views: null }>(answer);
    expect(stored).toMatchObject({
      visibility: 'unlisted',
      album: album.id,
      max_views: null,
      expires_at: null,
    });
    const plain = await add(link, formOf({}, 2), { headers: { accept: 'text/html' } });
    expect([plain.status, (await plain.text()).includes('2 pictures uploaded')]).toEqual([201, true]);
    expect([await usedOf(album), (await idsIn(album)).length]).toEqual([[3], 3]);
    const { code } = await json<{ code: string }>(await add(link));
    expect(code).toBe('conflict');
  });

  test('allows exactly its maximum, however many come at once, and keeps nothing beyond', async () => {
    const link = await invited(album, { max: 5 });
    const before = (await host.service.summary()).images;
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, turn) => add(link, formOf({}, turn % 2 === 0 ? 2 : 1))),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
    expect([await usedOf(album), (await idsIn(album)).length]).toEqual([[5], 5]);
    expect((await host.service.summary()).images - before).toBe(5);
    const few = await invited(album, { max: 2 });
    expect((await add(few, formOf({}, 3))).status).toBe(201);
    expect([await usedOf(album), (await host.service.summary()).images - before]).toEqual([[5, 2], 7]);
  });

  test('answers as before to one that took the last place and is sent again with its Idempotency-Key', async () => {
    const link = await invited(album, { max: 1 });
    const headers = { 'idempotency-key': 'a-key-of-the-last-place' };
    const send = async () => json<UploadAnswer>(await add(link, formOf(), { headers }));
    const first = await send();
    expect([first.success, await send()]).toEqual([true, first]);
    expect([(await add(link)).status, await usedOf(album)]).toEqual([409, [1]]);
    const page = await (await add(link, formOf(), { headers: { accept: 'text/html' } })).text();
    expect(page).toContain('<h1>This is not possible now');
    const other = { 'idempotency-key': 'a-key-that-came-too-late' };
    expect((await add(link, formOf(), { headers: other })).status).toBe(409);
  });

  test('does not count what fails, nor what nobody was told of', async () => {
    const link = await invited(album, { max: 2 });
    const letter = new FormData();
    letter.append('image', new File(['no picture'], 'letter.jpg'));
    expect((await add(link, letter)).status).toBe(415);
    leaving = new AbortController();
    const lost = await add(link, formOf(), { signal: leaving.signal });
    leaving = null;
    expect([lost.status, await usedOf(album), await idsIn(album)]).toEqual([400, [0], []]);
    expect((await add(link, formOf({}, 2))).status).toBe(201);
  });

  test('counts a picture once, and is made and revoked once, if a store repeats what it was not heard to have done', async () => {
    trouble = 'unheard';
    const link = await invited(album, { max: 3 });
    trouble = 'unheard';
    expect((await add(link, formOf({}, 2))).status).toBe(201);
    expect([await usedOf(album), (await idsIn(album)).length]).toEqual([[2], 2]);
    trouble = 'unheard';
    const path = `/api/albums/${album.id}/invites/${link.id}`;
    expect((await host.send(path, { method: 'DELETE', headers: withToken(album) })).status).toBe(200);
    expect(await usedOf(album)).toEqual([]);
  });

  test('is not used up by pictures that were taken back while the store was away', async () => {
    const link = await invited(album, { max: 1 });
    trouble = 'leaving';
    expect((await add(link)).status).toBe(503);
    trouble = 'none';
    expect([await usedOf(album), await idsIn(album)]).toEqual([[0], []]);
    expect([(await add(link)).status, await usedOf(album), (await add(link)).status]).toEqual([
      201,
      [1],
      409,
    ]);
  });

  test('lets no picture in that was taken back before the store has added it', async () => {
    const link = await invited(album, { max: 1 });
    trouble = 'late';
    expect((await add(link)).status).toBe(503);
    expect(await late()).toBe(false);
    expect([await usedOf(album), await idsIn(album)]).toEqual([[0], []]);
  });

  test('ends when it expires and at once when it is revoked, and then is gone from the list', async () => {
    const [first, second] = [await invited(album, { expires_in: '1h' }), await invited(album)];
    const path = `/api/albums/${album.id}/invites/${second.id}`;
    expect((await host.send(path, { method: 'DELETE' })).status).toBe(403);
    expect((await host.send(path, { method: 'DELETE', headers: withToken(album) })).status).toBe(200);
    expect((await host.send(path, { method: 'DELETE', headers: withToken(album) })).status).toBe(404);
    expect((await add(second)).status).toBe(403);
    expect((await add(first)).status).toBe(201);
    host.clock.ms += DAY_MS;
    expect([(await add(first)).status, (await host.send(pathIn(first.url))).status]).toEqual([403, 403]);
    expect(await usedOf(album)).toEqual([]);
  });

  test('is good again after the clock was ahead for a while, in which another was made, unless it was revoked', async () => {
    const [link, revoked] = [await invited(album), await invited(album)];
    const path = `/api/albums/${album.id}/invites/${revoked.id}`;
    host.clock.ms += 30 * DAY_MS;
    expect((await host.send(path, { method: 'DELETE', headers: withToken(album) })).status).toBe(200);
    const later = await invited(album);
    expect([(await add(link)).status, await usedOf(album)]).toEqual([403, [0]]);
    host.clock.ms -= 30 * DAY_MS;
    expect([(await add(link)).status, (await add(later)).status, await usedOf(album)]).toEqual([
      201,
      201,
      [1, 1],
    ]);
  });

  test('is refused beyond 20 of an album, for odd wishes and without its token', async () => {
    const statuses: number[] = [];
    for (const wish of [
      { max: 0 },
      { max: 1001 },
      { expires_in: '1m' },
      { expires_in: 'never' },
      { expires_in: '2y' },
    ])
      statuses.push((await invite(album, wish)).status);
    expect(statuses).toEqual([400, 400, 400, 400, 400]);
    expect((await invite({ ...album, token: 'A'.repeat(32) })).status).toBe(403);
    for (let number = 0; number < 20; number++) await invited(album);
    expect((await invite(album)).status).toBe(409);
    host.clock.ms += 30 * DAY_MS;
    const last = await invited(album);
    host.clock.ms -= 30 * DAY_MS;
    expect([(await add(last)).status, (await usedOf(album)).length]).toEqual([201, 20]);
  });

  test('brings pictures that the guest deletes with his token, and the album with its own, but no others', async () => {
    const link = await invited(album);
    const [own, unwanted, last] = await Promise.all(
      Array.from({ length: 3 }, async () => json<UploadAnswer>(await add(link))),
    );
    if (!own || !unwanted || !last) throw new Error('a guest was refused');
    const into = `/api/upload?album=${album.id}`;
    const others = await host.send(
      into,
      { method: 'POST', body: picture, headers: withToken(album) },
      '203.0.113.9',
    );
    const { id: other } = await json<UploadAnswer>(others);
    const deleting = { method: 'DELETE', headers: withToken(album) };
    const removal = (id: string) => host.send(`/api/albums/${album.id}/images/${id}?image=delete`, deleting);
    const status = async (id: string) => (await host.send(`/i/${id}`)).status;
    const mine = { method: 'DELETE', headers: { 'x-delete-token': own.delete_token } };
    expect((await host.send(`/api/delete/${own.id}`, mine)).status).toBe(200);
    expect([(await removal(unwanted.id)).status, await status(unwanted.id)]).toEqual([200, 404]);
    expect([(await removal(other)).status, await status(other)]).toEqual([403, 200]);
    const gone = await host.send(`/api/albums/${album.id}?images=delete`, deleting);
    expect(await json(gone)).toMatchObject({ removed_images: 1, kept_images: [other] });
    expect([await status(last.id), await status(other)]).toEqual([404, 200]);
  });

  test('finds room in a full album for pictures that were deleted', async () => {
    const link = await invited(album, { max: 3 });
    // Only then do records without files not mean that the files are lost.
    await host.upload(picture);
    const ids = await fill(host, album, MOST_PICTURES);
    expect((await add(link)).status).toBe(409);
    await host.images.remove(ids[5] ?? '');
    expect((await add(link, formOf({}, 2))).status).toBe(201);
    expect([await usedOf(album), (await add(link)).status]).toEqual([[1], 409]);
    const page = await (await host.send(pathIn(link.url), { headers: { accept: 'text/html' } })).text();
    expect(/allows (\S+)/.exec(page)?.[1]).toBe('0');
  });

  test('brings nothing that outlives its album, if a guest is adding while that is deleted with its pictures', async () => {
    const link = await invited(album);
    const { id: first } = await json<UploadAnswer>(await add(link));
    let late: UploadAnswer | null = null;
    whenRemoved = async (id) => {
      if (id !== first || late !== null) return;
      late = await json<UploadAnswer>(await add(link));
    };
    const path = `/api/albums/${album.id}`;
    const answer = await host.send(`${path}?images=delete`, { method: 'DELETE', headers: withToken(album) });
    whenRemoved = async () => {};
    const { id = '' } = (late ?? {}) as Partial<UploadAnswer>;
    expect(await json(answer)).toMatchObject({ removed_images: 2, kept_images: [] });
    expect([(await host.send(`/i/${id}`)).status, (await host.send(path)).status]).toEqual([404, 404]);
  });
});

/** Where a secret may stand in a request. */
const PLACES: Record<string, (key: string) => { headers?: Record<string, string>; query?: string }> = {
  bearer: (key) => ({ headers: { authorization: `Bearer ${key}` } }),
  album: (key) => ({ headers: { 'x-album-token': key } }),
  deletion: (key) => ({ headers: { 'x-delete-token': key } }),
  password: (key) => ({ headers: { 'x-image-password': key } }),
  'album of a form': (key) => ({ query: `album_token=${key}` }),
  'query of a deletion': (key) => ({ query: `delete_token=${key}&token=${key}` }),
  'query of a page': (key) => ({ query: `k=${key}&key=${key}` }),
};

test('an invitation is only made of an object, although nothing in it is required', async () => {
  const album = await makeAlbum();
  for (const body of ['null', '5', 'true', '[]', '"x"']) {
    const headers = { ...withToken(album), 'content-type': 'application/json' };
    const answer = await host.send(`/api/albums/${album.id}/invites`, { method: 'POST', body, headers });
    expect([body, answer.status, (await json<{ error: string }>(answer)).error]).toEqual([
      body,
      400,
      'The body must be a JSON object.',
    ]);
  }
});

test('once uploads need a token, an invitation is valid if that of its maker allows them', async () => {
  const settings = { DATA_DIR: folder, ADMIN_TOKEN: 'the-administrator' };
  const paths: [role: string, path: string][] = [];
  await withServer(settings, async ({ post }) => {
    const admin = { authorization: 'Bearer the-administrator' };
    const album = await json<Album>(await post('/api/albums', {}, admin));
    for (const role of ['upload', 'admin', 'moderator']) {
      const { token } = await json<Album>(await post('/api/admin/tokens', { name: role, role }, admin));
      const headers = { authorization: `Bearer ${token}`, ...withToken(album) };
      const { url } = await json<Invited>(await post(`/api/albums/${album.id}/invites`, {}, headers));
      const { pathname, search } = new URL(url);
      paths.push([role, pathname + search]);
    }
  });
  await withServer({ ...settings, UPLOAD: 'token' }, async ({ send }) => {
    const answers = paths.map(async ([role, path]) => [role, (await send(path)).status]);
    expect(Object.fromEntries(await Promise.all(answers))).toEqual({
      upload: 200,
      admin: 200,
      moderator: 403,
    });
  });
});

test(
  'of all routes, the key of an invitation opens its own page alone; a wrong or a revoked one opens nothing',
  () =>
    withServer(
      { RATE_LIMITS: 'off', UPLOAD: 'token', ADMIN_TOKEN: 'the-administrator', IMAGE_LISTING: 'public' },
      async ({ send }) => {
        const admin = { authorization: 'Bearer the-administrator' };
        const inviter = async (album: Album) => {
          const headers = { ...admin, ...withToken(album), 'content-type': 'application/json' };
          const answer = await send(`/api/albums/${album.id}/invites`, {
            method: 'POST',
            headers,
            body: '{}',
          });
          return json<Invited>(answer);
        };
        const album = await json<Album>(await send('/api/albums', { method: 'POST', headers: admin }));
        const stored = await send(`/api/upload?album=${album.id}`, {
          method: 'POST',
          body: PNG,
          headers: admin,
        });
        const { id: image } = await json<UploadAnswer>(stored);
        const own = { ...withToken(album), 'content-type': 'application/json' };
        const renamed = { method: 'PATCH', headers: own, body: '{"title":"Harbour"}' };
        expect((await send(`/api/albums/${album.id}`, renamed)).status).toBe(200);
        const [valid, revoked] = [await inviter(album), await inviter(album)];
        const path = `/api/albums/${album.id}/invites/${revoked.id}`;
        await send(path, { method: 'DELETE', headers: withToken(album) });
        const keyOf = ({ url }: Invited) => new URL(url).searchParams.get('k') ?? '';
        const keys = { valid: keyOf(valid), wrong: 'A'.repeat(32), revoked: keyOf(revoked) };

        const { paths } = await json<{ paths: Record<string, Record<string, unknown>> }>(
          await send('/openapi.json'),
        );
        const ofClients = CLIENTS.flatMap(({ name, routes }) =>
          routes.map(({ method, path }): [string, object] => [`/${name}${path}`, { [method]: {} }]),
        );
        const opened: string[] = [];
        let client = 0;
        for (const [pattern, operations] of [...Object.entries(paths), ...ofClients]) {
          const at = pattern
            .replace(/^(\/api\/albums\/|\/a\/)\{\w+\}/, `$1${album.id}`)
            .replace('{invite}', valid.id)
            .replaceAll(/\{\w+\}/g, image);
          for (const method of Object.keys(operations).map((name) => name.toUpperCase())) {
            const ask = async ({ headers = {}, query = '' }: ReturnType<(typeof PLACES)[string]>) => {
              const isUpload = method === 'POST' && /\/(upload|add|image|api\.php)$/.test(at);
              const form = isUpload ? formOf() : undefined;
              const body = form ?? (['GET', 'HEAD'].includes(method) ? undefined : '{}');
              const type = { 'content-type': 'application/json' };
              const answer = await send(`${at}?${query}`, {
                method,
                from: `192.0.2.${++client % 250}`,
                headers: { ...(typeof body === 'string' && type), ...headers },
                ...(body !== undefined && { body }),
              });
              await answer.body?.cancel();
              return answer.status;
            };
            const without = await ask({});
            for (const [kind, key] of Object.entries(keys)) {
              for (const [place, put] of Object.entries(PLACES)) {
                const status = await ask(put(key));
                if (status < 400 && without >= 400) opened.push(`${method} ${pattern} ${kind} in ${place}`);
              }
            }
          }
        }
        expect(Object.keys(paths).length).toBeGreaterThan(40);
        // Clients of other services get 200 for a refusal.
        const { images } = await json<{ images: unknown[] }>(
          await send('/api/admin/images', { headers: admin }),
        );
        expect(images.length).toBe(2);
        expect(opened).toEqual([
          'GET /a/{file}/add valid in query of a page',
          'POST /a/{file}/add valid in query of a page',
        ]);
      },
    ),
  120_000,
);
