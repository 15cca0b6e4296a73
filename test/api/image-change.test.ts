import { expect, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { ImageEvent } from '../../src/image/service.ts';
import { eventView } from '../../src/image/views.ts';
import { DAY_MS, pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';
import { shared } from '../support/shared.ts';

const hosts = imageHosts();
const picture = new Uint8Array(await photo(200, 100));
const events: ImageEvent[] = [];
const blocked = new Set<string>();

const host = shared(() =>
  hosts.start({
    adminToken: 'admin-token',
    change: ({ limits }) => ({
      limits: { ...limits, cacheMaxAgeMs: 3_600_000 },
      onEvent: (event) => void events.push(event),
      mayStore: async (hash, phash) => {
        if (blocked.has(hash) || blocked.has(phash ?? ''))
          throw new AppError('forbidden', inEnglish('It is blocked.'));
      },
    }),
  }),
);

const change = (id: string, body: unknown, headers: Record<string, string> = {}) =>
  host.send(`/api/image/${id}`, asJson('PATCH', body, headers));
const withToken = ({ delete_token }: UploadAnswer) => ({ 'x-delete-token': delete_token });
const isListed = async ({ id }: UploadAnswer) =>
  (await (await host.send('/api/list?per_page=100')).text()).includes(id);

test('a picture that loses its expiry counts from now', async () => {
  const image = await host.upload(picture, 'expires_in=1y');
  await host.serve(100 * DAY_MS);
  expect((await change(image.id, { expires_in: null }, withToken(image))).status).toBe(200);
  await host.service.cleanup(1000, true);
  expect((await host.send(pathOf(image.raw_url))).status).toBe(200);
  await host.serve(91 * DAY_MS);
  expect(await host.service.cleanup(1000, true)).toMatchObject({ removed: 1 });
});

test('a picture that loses its password while it is made protected does not become public', async () => {
  const image = await host.upload(picture, 'password=one');
  const made = ['unlisted', 'protected'].map((visibility) =>
    change(image.id, { visibility, title: visibility }, withToken(image)),
  );
  await Promise.all(made);
  // The other one is refused, but has changed the title.
  const told = events.filter(({ type, image: { id } }) => type === 'changed' && id === image.id);
  expect(told.map((event) => event.image.title)).toEqual(['unlisted', 'protected']);
  expect(await isListed(image)).toBeFalse();
});

test('title and alternative text are stored, changed and taken away, and shown everywhere', async () => {
  const image = await host.upload(
    picture,
    'filename=trip-07.png&title=Harbour+in+winter&alt=Two+%3Cboats%3E',
  );
  expect(image.html).toEndWith(' alt="Two &lt;boats&gt;">');
  const info = async () => JSON.parse(await (await host.send(`/api/info/${image.id}`)).text());
  expect(await info()).toMatchObject({ title: 'Harbour in winter', alt: 'Two <boats>' });
  const found = await (await host.send('/api/search?q=boats+07')).text();
  expect(found).toContain('"title":"Harbour in winter"');
  const page = async () => (await host.send(`/i/${image.id}`, { headers: { accept: 'text/html' } })).text();
  expect(await page()).toContain('<meta property="og:title" content="Harbour in winter">');
  expect(await page()).toContain('<meta property="og:image:alt" content="Two &lt;boats&gt;">');
  const oembed = await host.send(`/oembed?url=${encodeURIComponent(image.url)}`);
  expect(await oembed.text()).toContain('"title":"Harbour in winter"');

  const changed = await change(image.id, { title: 'H\u202eafen', alt: null }, withToken(image));
  expect(await changed.json()).toMatchObject({ title: 'Hafen', alt: null });
  expect((await info()).html).toEndWith(' alt="trip-07.png">');
  await change(image.id, { title: ' ' }, withToken(image));
  expect(await page()).toContain('<h1 id="picture-name">trip-07.png</h1>');
});

test('a picture that is blocked, or looks like a blocked one, cannot be changed', async () => {
  const image = await host.upload(picture);
  const { hash = '', phash = null } = (await host.images.get(image.id)) ?? {};
  for (const one of [hash, phash ?? '']) {
    blocked.add(one);
    expect((await change(image.id, { visibility: 'public' }, withToken(image))).status).toBe(403);
    blocked.clear();
  }
  expect((await change(image.id, { visibility: 'public' }, withToken(image))).status).toBe(200);
});

test('a picture becomes protected, unlisted and public again, and lists follow', async () => {
  const image = await host.upload(picture);
  const steps = [
    [{ visibility: 'protected', password: 'one' }, 'protected', 401, false],
    [{ visibility: 'protected', filename: 'other.png' }, 'protected', 401, false],
    [{ visibility: 'unlisted' }, 'unlisted', 200, false],
    [{ password: 'two' }, 'protected', 401, false],
    [{ password: '', title: 'Tea' }, 'protected', 401, false],
    [{ visibility: 'public' }, 'public', 200, true],
  ] as const;
  for (const [wish, visibility, status, listed] of steps) {
    const answer = await change(image.id, wish, withToken(image));
    expect([answer.status, (await json(answer)).visibility]).toEqual([200, visibility]);
    expect((await host.send(pathOf(image.raw_url))).status).toBe(status);
    expect(await isListed(image)).toBe(listed);
  }
  expect(await json(await host.send(`/api/info/${image.id}`))).toMatchObject({ filename: 'other.png' });
});

test('the answer says until when caches may have what was public, and the event names every URL', async () => {
  const image = await host.upload(picture);
  const answer = await change(image.id, { password: 'x' }, withToken(image));
  const until = new Date(host.clock.ms + 3_660_000).toISOString().slice(0, 19).replace('T', ' ');
  expect((await json(answer)).cached_until).toBe(until);
  const event = events.at(-1);
  expect(event).toMatchObject({ type: 'changed', image: { id: image.id } });
  const { urls } = eventView((event as ImageEvent).image, 'https://img.example');
  const page = `https://img.example/i/${image.id}`;
  expect(urls).toEqual([
    page,
    `${page}?auto`,
    `${page}?auto=1`,
    `${page}/preview.jpg`,
    `${page}.webp`,
    `${page}.webp?download=1`,
    `${page}.webp?w=160`,
  ]);
  expect(
    (await json(await change(image.id, { filename: 'b.png' }, withToken(image)))).cached_until,
  ).toBeNull();
});

test('a new password ends the cookies of the old one', async () => {
  const image = await host.upload(picture, 'password=old');
  const form = { method: 'POST', body: new URLSearchParams({ password: 'old' }) };
  const opened = await host.send(`/i/${image.id}`, form);
  const cookie = opened.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  const look = () => host.send(pathOf(image.raw_url), { headers: { cookie } });
  expect((await look()).status).toBe(200);
  await change(image.id, { password: 'new' }, withToken(image));
  expect((await look()).status).toBe(401);
});

test('an expiry is put off, brought forward, and taken away', async () => {
  const image = await host.upload(picture, 'expires_in=1h');
  const expiry = async (expires_in: string | null) =>
    (await json(await change(image.id, { expires_in }, withToken(image)))).expires_at;
  expect(String(await expiry('2h')) > String(await expiry('30m'))).toBe(true);
  expect(await expiry(null)).toBeNull();
  await expiry('10m');
  host.clock.ms += 600_000;
  expect((await change(image.id, { expires_in: '1h' }, withToken(image))).status).toBe(410);
});

test('the address of the uploader gives no right to change, a wrong token neither, and that of the administrator does', async () => {
  const image = await host.upload(picture);
  const wish = { visibility: 'unlisted' };
  expect((await change(image.id, wish)).status).toBe(403);
  expect((await change(image.id, wish, { 'x-delete-token': 'x'.repeat(32) })).status).toBe(403);
  const query = `/api/image/${image.id}?delete_token=${image.delete_token}`;
  expect((await host.send(query, asJson('PATCH', wish))).status).toBe(403);
  expect((await change(image.id, wish, { authorization: 'Bearer admin-token' })).status).toBe(200);
});

test.each([
  [{}, 'invalid_body'],
  ['text', 'invalid_body'],
  [{ max_views: 3 }, 'invalid_body'],
  [{ visibility: 'hidden' }, 'invalid_body'],
  [{ visibility: 'protected' }, 'invalid_parameter'],
  [{ visibility: 'public', password: 'x' }, 'invalid_parameter'],
  [{ expires_in: 'soon' }, 'invalid_parameter'],
  [{ expires_in: 'never' }, 'invalid_parameter'],
  [{ filename: '/' }, 'invalid_parameter'],
  [{ password: 'x'.repeat(2000) }, 'invalid_parameter'],
])('%j changes nothing', async (wish, code) => {
  const image = await host.upload(picture);
  const answer = await change(image.id, wish, withToken(image));
  expect([answer.status, (await json(answer)).code]).toEqual([400, code]);
});

test('a picture with a limit of views does not become public', async () => {
  const image = await host.upload(picture, 'max_views=2');
  const answer = await change(image.id, { visibility: 'public' }, withToken(image));
  expect((await json(answer)).error).toContain('max_views');
});
