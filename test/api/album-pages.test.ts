import { expect, test } from 'bun:test';
import { sightOf, zipFiles } from '../support/images/album-sights.ts';
import { type Album, albumsOf } from '../support/images/albums.ts';
import { pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { asJson, json } from '../support/json.ts';
import { shared } from '../support/shared.ts';

const hosts = imageHosts();
const reads: number[] = [];

const host = shared(() =>
  hosts.start({
    countReads: async (_peer, files) => void reads.push(files),
  }),
);

const { make, uploadInto: upload } = albumsOf(() => host);
const uploadInto = (album: Album, filename: string, options: Record<string, string> = {}) =>
  upload(album, { ...options, filename });

const protect = ({ id, delete_token }: UploadAnswer, password: string) =>
  host.send(`/api/image/${id}`, asJson('PATCH', { password }, { 'x-delete-token': delete_token }));

async function unlock({ id }: UploadAnswer, password: string): Promise<string> {
  const answer = await host.send(`/i/${id}`, {
    method: 'POST',
    body: new URLSearchParams({ password }),
  });
  const cookie = answer.headers.getSetCookie().find((one) => one.includes('Path=/a;'));
  return cookie?.split(';')[0] ?? '';
}

test('what others append to links changes nothing', async () => {
  const album = await make();
  const picture = await uploadInto(album, 'tea.png');
  const paths = [`/a/${album.id}`, `/api/albums/${album.id}`, '/gallery', '/api/list', `/i/${picture.id}`];
  for (const path of paths) {
    const { status } = await host.send(`${path}?fbclid=IwAR0&utm_source=feed&_=17`);
    expect(`${path} ${status}`).toBe(`${path} 200`);
  }
  expect((await host.send('/api/list?pagee=2')).status).toBe(400);
});

test('an unlisted album is not for search engines, whatever is in it', async () => {
  for (const visibility of ['public', 'unlisted']) {
    const album = await make({ visibility });
    const picture = await uploadInto(album, 'quay.jpg');
    const indexed = visibility === 'public';
    expect(await sightOf(host.send, album.id, picture)).toMatchObject({ page: 'shown', indexed });
    const within = await host.send(`/a/${album.id}/${picture.id}`);
    expect(within.headers.has('x-robots-tag')).toBe(!indexed);
    expect((await within.text()).includes('name="robots"')).toBe(!indexed);
  }
});

test('a protected picture is not named, and no forged or earlier proof opens it', async () => {
  const album = await make();
  await uploadInto(album, 'open.jpg');
  const secret = await uploadInto(album, 'secret-name.jpg', { password: 'x' });
  expect(await (await host.send(`/a/${album.id}`)).text()).not.toContain('secret-name');
  const cookie = await unlock(secret, 'x');
  expect(await sightOf(host.send, album.id, secret, cookie)).toMatchObject({ page: 'shown', zip: true });
  for (const forged of [cookie.replace(/.$/, '!'), cookie.replace(secret.id, 'AAAAAAAAAAAA'), 'x=y']) {
    expect(await sightOf(host.send, album.id, secret, forged)).toMatchObject({ page: 'locked', zip: false });
  }
  expect((await protect(secret, 'other')).status).toBe(200);
  expect(await sightOf(host.send, album.id, secret, cookie)).toMatchObject({ page: 'locked', zip: false });
});

test('a picture that may be seen a few times loses no view to its album', async () => {
  const album = await make();
  const limited = await uploadInto(album, 'limited.jpg', { max_views: '1' });
  for (let look = 0; look < 3; look++) await sightOf(host.send, album.id, limited);
  const info = await json(await host.send(`/api/info/${limited.id}`));
  expect(info).toMatchObject({ views_left: 1 });
});

test('the page works without a script and in both languages, and says what the ZIP file weighs', async () => {
  const album = await make({ title: '<b>Harbour</b> & "quay"' });
  const image = await uploadInto(album, 'one.jpg');
  await uploadInto(album, 'two.jpg', { password: 'x' });
  const page = await (await host.send(`/a/${album.id}`)).text();
  expect(page).toContain('<h1>&lt;b&gt;Harbour&lt;/b&gt; &amp; &quot;quay&quot;</h1>');
  expect(page).toContain('2 pictures');
  expect(page).toContain('1 picture needs a password');
  expect(page).toContain(`href="/a/${album.id}.zip"`);
  expect(page).toContain(`${image.size} B`);
  const chinese = await host.send(`/a/${album.id}`, { headers: { 'accept-language': 'zh-CN' } });
  expect(await chinese.text()).toContain('2 张图片');
});

test('a look at a large album counts as more than one', async () => {
  const album = await make();
  const ids = Array.from({ length: 250 }, (_, index) => `${200_000_000_000 + index}`);
  await host.albums.append(album.id, ids, { token: null, admin: true });
  for (const path of [`/a/${album.id}`, `/api/albums/${album.id}`, `/a/${album.id}.zip`]) {
    reads.length = 0;
    await host.send(path, { method: 'HEAD' });
    expect(reads).toEqual([2]);
  }
});

test('a long album has pages, and an album that is not there is not found', async () => {
  const album = await make();
  for (let count = 0; count < 50; count++) await uploadInto(album, `${count}.jpg`);
  const tiles = async (query: string) =>
    (await (await host.send(`/a/${album.id}${query}`)).text()).split(/class="tile[ "]/).length - 1;
  expect([await tiles(''), await tiles('?page=2'), await tiles('?page=3')]).toEqual([48, 2, 0]);
  for (const path of ['/a/AAAAAAAAAAAA', '/a/AAAAAAAAAAAA.zip', '/a/x', `/a/${album.id}.tar`]) {
    expect((await host.send(path)).status).toBe(404);
  }
});

test('the ZIP file has the stored files in the order of the album, under names of their own', async () => {
  const album = await make({ title: 'Größe 1/5' });
  const images = [
    await uploadInto(album, 'same.jpg'),
    await uploadInto(album, 'same.jpg', { format: 'png' }),
    await uploadInto(album, '猫.jpg', { visibility: 'unlisted' }),
  ];
  reads.length = 0;
  const answer = await host.send(`/a/${album.id}.zip`);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename="Gr__e 1_5.zip"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201_5.zip`,
    'cache-control': 'private, no-store',
    'x-robots-tag': 'noindex',
  });
  const files = zipFiles(await answer.bytes());
  expect([...files.keys()]).toEqual(['01 same.webp', '02 same.png', '03 猫.webp']);
  for (const [index, bytes] of [...files.values()].entries()) {
    const stored = await (await host.send(pathOf(images[index]?.raw_url ?? ''))).bytes();
    expect(Buffer.compare(bytes, stored)).toBe(0);
  }
  expect(reads).toEqual([3]);
});

test('HEAD of a ZIP file reads nothing, and an album with nothing to send has none', async () => {
  const album = await make();
  expect((await host.send(`/a/${album.id}.zip`)).status).toBe(404);
  await uploadInto(album, 'one.jpg', { max_views: '3' });
  expect((await host.send(`/a/${album.id}.zip`)).status).toBe(404);
  await uploadInto(album, 'two.jpg');
  reads.length = 0;
  const head = await host.send(`/a/${album.id}.zip`, { method: 'HEAD' });
  expect([head.status, (await head.bytes()).length, reads]).toEqual([200, 0, []]);
});

test('what goes while a ZIP file is sent, and what is damaged, is left out of it', async () => {
  const album = await make();
  const images = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) images.push(await uploadInto(album, `${name}.jpg`));
  const [, deleted, protectedLater, cut] = images;
  await host.stray(cut?.id ?? '', 'a part');
  const answer = await host.send(`/a/${album.id}.zip`);
  const reader = answer.body?.getReader();
  const pieces = [(await reader?.read())?.value ?? new Uint8Array()];
  await host.send(`/api/delete/${deleted?.id}`, { method: 'DELETE' });
  await protect(protectedLater as UploadAnswer, 'x');
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done || !value) break;
    pieces.push(value);
  }
  expect([...zipFiles(Buffer.concat(pieces)).keys()]).toEqual(['01 a.webp', '05 e.webp']);
});

test('a client has two ZIP files on their way, and a place again when it breaks one off', async () => {
  const album = await make();
  await uploadInto(album, 'one.jpg');
  const download = () => host.send(`/a/${album.id}.zip`);
  const [first, second] = [await download(), await download()];
  const third = await download();
  expect([third.status, (await json(third)).code]).toEqual([429, 'rate_limited']);
  await first.body?.cancel();
  expect((await (await download()).bytes()).length).toBeGreaterThan(100);
  await second.bytes();
});
