import { expect, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import { MOST_PICTURES } from '../../src/image/albums/album.ts';
import { type Album, albumsOf, fill, formOf, withToken } from '../support/images/albums.ts';
import { DAY_MS, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { shared } from '../support/shared.ts';

const hosts = imageHosts();
const picture = new Uint8Array(await photo(60, 40));
const host = shared(() => hosts.start({ adminToken: 'admin-token' }));

const { make, idsIn, uploadInto } = albumsOf(() => host);
type Headers = Record<string, string>;

const send = (method: string, path: string, body?: unknown, headers: Headers = {}) =>
  host.send(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
  });
const refused = async (answer: Response) => {
  const { code, error } = await json<{ code: string; error: string }>(answer);
  return [answer.status, code, error];
};

test('an album is made with JSON and with nothing, and has a link and a token', async () => {
  const answer = await send('POST', '/api/albums', { title: ' Harbour\nin winter ', visibility: 'unlisted' });
  expect(answer.status).toBe(201);
  const album = await json<Album>(answer);
  const { id } = album;
  expect(album).toMatchObject({
    success: true,
    id: expect.stringMatching(/^[0-9A-Za-z]{12}$/),
    url: `http://img.example/a/${id}`,
    zip_url: `http://img.example/a/${id}.zip`,
    title: 'Harbour in winter',
    visibility: 'unlisted',
    token: expect.stringMatching(/^[0-9A-Za-z]{32}$/),
  });
  expect(answer.headers.get('location')).toBe(`http://img.example/a/${id}`);
  const bare = await json(await host.send('/api/albums', { method: 'POST' }));
  expect(bare).toMatchObject({ title: '', visibility: 'public' });
});

test('a title that is too long, an unknown field and an unknown visibility are refused by name', async () => {
  expect(await refused(await send('POST', '/api/albums', { title: '猫'.repeat(201) }))).toEqual([
    400,
    'invalid_parameter',
    'title must be at most 200 characters.',
  ]);
  const wrong = [
    [{ visibility: 'protected' }, 'visibility'],
    [{ name: 'x' }, 'name'],
    [[], 'a JSON object'],
    ['x', 'a JSON object'],
    [{ title: 3 }, 'title'],
  ];
  for (const [body, named] of wrong) {
    const [status, code, error] = await refused(await send('POST', '/api/albums', body));
    expect([status, code, error]).toEqual([400, 'invalid_body', expect.stringContaining(String(named))]);
  }
  expect((await send('POST', '/api/albums', { title: '猫'.repeat(200) })).status).toBe(201);
});

test('pictures get into an album by query and header, by fields in any order, and several at once', async () => {
  const album = await make();
  const first = await uploadInto(album);
  expect(first.album).toBe(album.id);
  const before = await host.send('/api/upload', {
    method: 'POST',
    body: formOf({ album: album.id, album_token: album.token }, 2),
  });
  const { results } = await json<{ results: UploadAnswer[] }>(before);
  const late = new FormData();
  late.append('image', new File([picture], 'late.jpg'));
  late.set('album', album.id);
  late.set('album_token', album.token);
  const last = await json<UploadAnswer>(await host.send('/api/upload', { method: 'POST', body: late }));
  const expected = [first.id, ...results.map(({ id }) => id), last.id];
  expect(await idsIn(album)).toEqual(expected);
});

test('an upload into an album that is not there, or not the client’s, stores nothing', async () => {
  const album = await make();
  const other = await make();
  const images = (await host.service.summary()).images;
  const tries: [Headers, Headers, number, string][] = [
    [{ album: album.id }, {}, 400, 'invalid_parameter'],
    [{ album: album.id, album_token: other.token }, {}, 403, 'forbidden'],
    [{ album: album.id }, withToken(other), 403, 'forbidden'],
    [{ album: 'nothing00000', album_token: album.token }, {}, 404, 'not_found'],
    [{ album: '../x', album_token: album.token }, {}, 404, 'not_found'],
  ];
  for (const [fields, headers, status, code] of tries) {
    const answer = await host.send('/api/upload', { method: 'POST', body: formOf(fields), headers });
    expect((await refused(answer)).slice(0, 2)).toEqual([status, code]);
    const late = new FormData();
    late.append('image', new File([picture], 'late.jpg'));
    for (const [name, value] of Object.entries(fields)) late.set(name, value);
    expect((await host.send('/api/upload', { method: 'POST', body: late, headers })).status).toBe(status);
  }
  const inUrl = await host.send(`/api/upload?album=${album.id}&album_token=${album.token}`, {
    method: 'POST',
    body: picture,
  });
  expect((await refused(inUrl))[2]).toContain('Do not send album_token in the URL');
  expect((await host.service.summary()).images).toBe(images);
  expect(await host.temporaryFiles()).toEqual([]);
});

test('a picture that is there already gets in with both tokens, once', async () => {
  const album = await make();
  const [one, two] = [await host.upload(picture), await host.upload(picture)];
  const add = (images: { id: string; delete_token: string }[], headers = withToken(album)) =>
    send('POST', `/api/albums/${album.id}/images`, { images }, headers);
  const named = ({ id, delete_token }: UploadAnswer) => ({ id, delete_token });
  expect((await add([named(one)], { 'x-album-token': 'x'.repeat(32) })).status).toBe(403);
  const [status, , error] = await refused(
    await add([named(one), { id: two.id, delete_token: one.delete_token }]),
  );
  expect([status, error]).toEqual([403, `The delete token of image ${two.id} is wrong.`]);
  expect((await add([{ id: 'nothing00000', delete_token: one.delete_token }])).status).toBe(404);
  expect(await idsIn(album)).toEqual([]);
  const added = await add([named(two), named(one), named(two)]);
  expect([added.status, (await json(added)).total]).toEqual([200, 2]);
  await add([named(one)]);
  expect(await idsIn(album)).toEqual([two.id, one.id]);
  expect((await add([])).status).toBe(400);
});

test('title, visibility and order change with the token alone', async () => {
  const album = await make({ title: 'Before' });
  const pictures = [await uploadInto(album), await uploadInto(album), await uploadInto(album)];
  const [a = '', b = '', c = ''] = pictures.map(({ id }) => id);
  const change = (body: unknown, headers: Headers = withToken(album)) =>
    send('PATCH', `/api/albums/${album.id}`, body, headers);
  expect((await change({ title: 'x' }, {})).status).toBe(403);
  expect(await json(await change({ title: 'After', visibility: 'unlisted' }))).toMatchObject({
    title: 'After',
    visibility: 'unlisted',
    total: 3,
  });
  expect(await json(await change({ images: [c, a] }))).toMatchObject({ title: 'After' });
  expect(await idsIn(album)).toEqual([c, a, b]);
  expect(await refused(await change({ images: [a, 'nothing00000'] }))).toEqual([
    400,
    'invalid_parameter',
    'Image nothing00000 is not in this album.',
  ]);
  expect(await refused(await change({}))).toEqual([
    400,
    'invalid_body',
    'body must have at least one of title, visibility, cover, images.',
  ]);
  expect(await refused(await change({ name: 'x' }))).toEqual([
    400,
    'invalid_body',
    'name is not among title, visibility, cover, images.',
  ]);
  expect(await json(await change({ title: '' }, { authorization: 'Bearer admin-token' }))).toMatchObject({
    title: '',
  });
});

test('a picture is taken out by the token of the album or its own, and stays an image', async () => {
  const album = await make();
  const [one, two] = [await uploadInto(album), await uploadInto(album)];
  const takeOut = (id: string, headers: Headers) =>
    send('DELETE', `/api/albums/${album.id}/images/${id}`, undefined, headers);
  expect((await takeOut(one.id, {})).status).toBe(403);
  expect((await takeOut(one.id, { 'x-delete-token': two.delete_token })).status).toBe(403);
  expect((await takeOut(one.id, { 'x-delete-token': one.delete_token })).status).toBe(200);
  expect((await takeOut(one.id, withToken(album))).status).toBe(404);
  expect((await json(await takeOut(two.id, withToken(album)))).total).toBe(0);
  expect((await host.send(`/api/info/${one.id}`)).status).toBe(200);
});

test('a deleted album leaves its pictures, unless someone who may delete them asks for that as well', async () => {
  const removal = async (query: string, headers: Headers, from?: string) => {
    const album = await make();
    const [one, two] = [await uploadInto(album), await uploadInto(album)];
    const remove = (sent: Headers) =>
      host.send(`/api/albums/${album.id}${query}`, { method: 'DELETE', headers: sent }, from);
    expect((await remove({ 'x-delete-token': one.delete_token })).status).toBe(403);
    const own = headers['x-delete-token'] === 'one' ? { 'x-delete-token': one.delete_token } : headers;
    const answer = await json(await remove({ ...withToken(album), ...own }));
    expect((await host.send(`/api/albums/${album.id}`)).status).toBe(404);
    const left = [];
    for (const { id } of [one, two]) if ((await host.send(`/api/info/${id}`)).status === 200) left.push(id);
    expect(answer).toMatchObject({ removed_images: 2 - left.length, kept_images: left });
    return left.map((id) => (id === one.id ? 'one' : 'two'));
  };
  const stranger = '203.0.113.77';
  expect(await removal('', {})).toEqual(['one', 'two']);
  expect(await removal('?images=delete', {})).toEqual([]);
  expect(await removal('?images=delete', {}, stranger)).toEqual(['one', 'two']);
  expect(await removal('?images=delete', { 'x-delete-token': 'one' }, stranger)).toEqual(['two']);
  expect(await removal('?images=delete', { authorization: 'Bearer admin-token' }, stranger)).toEqual([]);
});

test('an album tells nothing of protected pictures but their links, and no preview of such as may be seen a few times', async () => {
  const album = await make();
  const open = await uploadInto(album);
  const { id: secret } = await uploadInto(album, { password: 'x' });
  const { id: limited } = await uploadInto(album, { max_views: '2' });
  const { images } = await json<{ images: Record<string, unknown>[] }>(
    await host.send(`/api/albums/${album.id}`),
  );
  expect(images[0]).toMatchObject({ locked: false, id: open.id, thumbhash: expect.any(String) });
  expect(images[1]).toEqual({
    locked: true,
    id: secret,
    url: `http://img.example/i/${secret}`,
    visibility: 'protected',
  });
  expect(images[2]).toMatchObject({ locked: false, id: limited, thumbhash: null, views_left: 2 });
});

test('a picture that no longer exists can still be taken out, whatever token comes with it', async () => {
  const album = await make();
  const { id } = await uploadInto(album);
  await host.send(`/api/delete/${id}`, { method: 'DELETE' });
  const path = `/api/albums/${album.id}/images/${id}`;
  const headers = { ...withToken(album), authorization: 'Bearer of-an-uploader' };
  expect((await send('DELETE', path, undefined, headers)).status).toBe(200);
  expect((await host.send(path, { method: 'DELETE' })).status).toBe(404);
});

test('an album whose pictures cannot all be deleted stays, so that its deletion can be repeated', async () => {
  let fails = true;
  const failing = await hosts.start({
    change: ({ images }) => ({
      images: {
        ...images,
        async remove(id) {
          if (fails) throw new AppError('unavailable', inEnglish('The database does not answer.'));
          return images.remove(id);
        },
      },
    }),
  });
  const album = await json<Album>(await failing.send('/api/albums', { method: 'POST' }));
  const { id } = await failing.upload(picture);
  await failing.albums.append(album.id, [id], { token: null, admin: true });
  const remove = () =>
    failing.send(`/api/albums/${album.id}?images=delete`, { method: 'DELETE', headers: withToken(album) });
  expect((await remove()).status).toBe(503);
  fails = false;
  expect(await json(await remove())).toMatchObject({ removed_images: 1, kept_images: [] });
  expect((await failing.send(`/api/albums/${album.id}`)).status).toBe(404);
  await failing.stop();
});

test('pages of an album are cut from all of its pictures', async () => {
  const album = await make();
  const uploads = [await uploadInto(album), await uploadInto(album), await uploadInto(album)];
  const page = await json(await host.send(`/api/albums/${album.id}?page=2&per_page=2`));
  expect(page).toMatchObject({ total: 3, page: 2, per_page: 2, pages: 2, images: [{ id: uploads[2]?.id }] });
  expect((await host.send(`/api/albums/${album.id}?page=0`)).status).toBe(400);
});

test('a cursor leads on through an album whose pictures are deleted meanwhile', async () => {
  const album = await make();
  const [a, b, c, d] = [
    await uploadInto(album),
    await uploadInto(album),
    await uploadInto(album),
    await uploadInto(album),
  ];
  const page = async (query: string) => {
    const { next, images } = await json<{ next: string | null; images: { id: string }[] }>(
      await host.send(`/api/albums/${album.id}?per_page=2${query}`),
    );
    return { next, ids: images.map(({ id }) => id) };
  };
  for (const first of ['', '&cursor=']) expect(await page(first)).toEqual({ next: b.id, ids: [a.id, b.id] });
  for (const { id, delete_token: token } of [a, b]) {
    await host.service.remove(id, { peer: null, token, admin: false });
  }
  expect(await page(`&cursor=${b.id}`)).toEqual({ next: null, ids: [c.id, d.id] });
  expect(await page(`&cursor=${d.id}`)).toEqual({ next: null, ids: [] });
  const headers = withToken(album);
  await send('DELETE', `/api/albums/${album.id}/images/${c.id}`, undefined, headers);
  expect(await refused(await host.send(`/api/albums/${album.id}?cursor=${c.id}`))).toEqual([
    400,
    'invalid_parameter',
    'The image of the cursor is no longer in this album. Start again at page 1.',
  ]);
});

test(`an album has at most ${MOST_PICTURES} pictures, not counting deleted ones`, async () => {
  const album = await make();
  const ids = await fill(host, album, MOST_PICTURES);
  const headers = { ...withToken(album), 'idempotency-key': 'a-key-of-the-last-place' };
  const upload = (title = '') =>
    host.send(`/api/upload?album=${album.id}&title=${title}`, { method: 'POST', body: picture, headers });
  expect(await refused(await upload())).toEqual([
    409,
    'conflict',
    'An album has at most 1,000 pictures; make another one.',
  ]);
  await host.images.remove(ids[5] ?? '');
  const stored = await json(await upload());
  expect(stored).toMatchObject({ success: true, album: album.id });
  expect(await json(await upload())).toEqual(stored);
  expect((await upload('another')).status).toBe(409);
});

test('a form whose pictures do not all fit into its album puts in those that do', async () => {
  const album = await make();
  await fill(host, album, MOST_PICTURES - 2);
  const form = { method: 'POST', body: formOf({}, 4), headers: withToken(album) };
  const answer = await host.send(`/api/upload?album=${album.id}`, form);
  const { results } = await json<{ results: { album?: string; warnings: { code: string }[] }[] }>(answer);
  expect(results.map((one) => one.album)).toEqual([album.id, album.id, undefined, undefined]);
  expect(results.flatMap(({ warnings }) => warnings.map(({ code }) => code))).toEqual([
    'not_in_album',
    'not_in_album',
  ]);
});

test('an upload whose album goes meanwhile is stored, and says so', async () => {
  const album = await make();
  const { demandRoom } = host.albums;
  host.albums.demandRoom = async (id, by) => {
    await demandRoom(id, by);
    await host.albums.remove(id, { token: null, admin: true }, null);
  };
  const upload = await uploadInto(album).finally(() => {
    host.albums.demandRoom = demandRoom;
  });
  expect(upload.album).toBeUndefined();
  expect(upload).toMatchObject({
    warnings: [{ code: 'not_in_album', message: 'There is no such album.' }],
  });
});

test('an album is removed once it has been empty for the retention time of pictures', async () => {
  const { signal } = new AbortController();
  const [bare, filled] = [await make(), await make()];
  const { id } = await uploadInto(filled);
  const exists = async ({ id }: Album) => (await host.send(`/api/albums/${id}`)).status === 200;
  /** Which of them are there so many days later. */
  const after = async (days: number) => {
    host.clock.ms += days * DAY_MS;
    await host.albums.sweep(signal, host.clock.now() - host.limits.retentionMs);
    return [await exists(bare), await exists(filled)];
  };
  expect(await after(89)).toEqual([true, true]);
  expect(await after(2)).toEqual([false, true]);
  await host.images.remove(id);
  for (const days of [89, 2]) expect(await after(days)).toEqual([false, true]);
  expect(await after(91)).toEqual([false, false]);
});

test('an album is made with its pictures in one step, and not at all if one is gone or another person’s', async () => {
  const [first, gone, last] = [
    await host.upload(picture),
    await host.upload(picture),
    await host.upload(picture),
  ];
  const images = [last, first].map(({ id, delete_token }) => ({ id, delete_token }));
  const album = await make({ title: 'Quay', images });
  expect(await idsIn(album)).toEqual([last.id, first.id]);
  expect((await host.send(`/api/delete/${gone.id}`, { method: 'DELETE' })).status).toBe(200);
  const count = () => host.logged.filter(({ message }) => message === 'album created').length;
  const before = count();
  const missing = await send('POST', '/api/albums', {
    images: [...images, { id: gone.id, delete_token: gone.delete_token }],
  });
  const body = await json<{ details: unknown }>(missing);
  expect([missing.status, body.details]).toEqual([
    404,
    [{ field: 'images[2].id', message: 'does not exist' }],
  ]);
  const foreign = [{ id: first.id, delete_token: last.delete_token }];
  expect((await send('POST', '/api/albums', { images: foreign })).status).toBe(403);
  expect(count()).toBe(before);
});

test('the cover is a picture of the album, and the first again once it is gone', async () => {
  const album = await make();
  const [first, second] = [await uploadInto(album), await uploadInto(album)];
  const coverOf = async () => {
    const page = await (await host.send(`/a/${album.id}`)).text();
    return /og:image" content="[^"]*\/i\/(\w{12})/.exec(page)?.[1];
  };
  const choose = (cover: unknown) => send('PATCH', `/api/albums/${album.id}`, { cover }, withToken(album));
  expect(await coverOf()).toBe(first.id);
  expect((await choose(second.id)).status).toBe(200);
  expect(await coverOf()).toBe(second.id);
  expect((await choose('AAAAAAAAAAAA')).status).toBe(400);
  await host.send(`/api/delete/${second.id}`, { method: 'DELETE' });
  expect(await coverOf()).toBe(first.id);
  expect((await choose(null)).status).toBe(200);
});

test('the page of a picture in an album leads to its neighbours there and back to the album, also for hidden ones', async () => {
  const album = await make({ title: 'Quay' });
  const pictures = [await uploadInto(album), await uploadInto(album), await uploadInto(album)];
  const [first, second, third] = pictures.map(({ id }) => `/a/${album.id}/${id}`) as [string, string, string];
  const linksOf = async (path: string) => {
    const page = await (await host.send(path, { headers: { accept: 'text/html' } })).text();
    const nav = /<nav class="neighbours".*<\/nav>/.exec(page)?.[0] ?? '';
    return [...nav.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);
  };
  expect(await linksOf(second)).toEqual([first, `/a/${album.id}`, third]);
  expect(await linksOf(third)).toEqual([second, `/a/${album.id}`]);
  const other = await host.upload(picture);
  expect((await host.send(`/a/${album.id}/${other.id}`)).status).toBe(404);
});

test('the page of a picture in an album does not name the protected pictures beside it', async () => {
  const album = await make();
  const { id } = await uploadInto(album);
  await uploadInto(album, { filename: 'secret-plan.jpg', password: 'x' });
  const page = await (await host.send(`/a/${album.id}/${id}`)).text();
  expect(page).toContain('rel="next"');
  expect(page).not.toContain('secret-plan');
});

test('a password that is entered in an album leads back into it', async () => {
  const album = await make();
  const { id } = await uploadInto(album, { password: 'x' });
  const headers = { accept: 'text/html' };
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await host.send(path, { headers, ...init });
    const cookie = answer.headers.getSetCookie().find((one) => one.includes('Path=/a;'));
    return { to: answer.headers.get('location'), page: await answer.text(), cookie, status: answer.status };
  };
  const enter = (page: string, password: string) => {
    const [, into = ''] = /name="album" value="(\w+)"/.exec(page) ?? [];
    return ask(`/i/${id}`, { method: 'POST', body: new URLSearchParams({ password, album: into }) });
  };
  const { page } = await ask(`/a/${album.id}/${id}`);
  const again = await enter(page, 'wrong');
  const entered = await enter(again.page, 'x');
  expect(entered.to).toBe(`/a/${album.id}/${id}`);
  const cookie = entered.cookie?.split(';')[0] ?? '';
  expect((await ask(`/a/${album.id}/${id}`, { headers: { ...headers, cookie } })).status).toBe(200);
  expect((await enter((await ask(`/i/${id}`)).page, 'x')).to).toBe(`/i/${id}`);
});

test('a cover that was taken out of its album is told no more', async () => {
  const album = await make();
  const { id } = await uploadInto(album);
  await uploadInto(album);
  await send('PATCH', `/api/albums/${album.id}`, { cover: id }, withToken(album));
  const answer = await send('DELETE', `/api/albums/${album.id}/images/${id}`, undefined, withToken(album));
  expect(await json<object>(answer)).toMatchObject({ cover: null });
  expect(await (await host.send(`/api/albums/${album.id}`)).text()).not.toContain(id);
});
