import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { Sharp } from 'sharp';
import { ADMIN, ADMIN_TOKEN, adminBrowser } from '../support/admin.ts';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { PNG, runServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';

const server = shared(() =>
  runServer({
    ADMIN_TOKEN: ADMIN_TOKEN,
    ABUSE_CONTACT: 'abuse@img.example',
  }),
);

const block = (body: object) => server.post('/api/admin/blocks', body, ADMIN);
const unblock = (query: string) =>
  server.send(`/api/admin/blocks?${query}`, { method: 'DELETE', headers: ADMIN });

describe('the administrator', () => {
  test('sees the newest images with their uploaders, protected ones too, and deletes any', async () => {
    const open = await json(await server.upload('', '198.51.100.20'));
    const hidden = await json(await server.upload('password=secret', '2001:db8::20'));
    const page = await server.send('/api/admin/images?per_page=2', { headers: ADMIN });
    const { images } = (await page.json()) as { images: { id: string; uploader: string; hash: string }[] };
    const uploaders = Object.fromEntries(images.map(({ id, uploader }) => [id, uploader]));
    expect(uploaders).toEqual({ [String(open.id)]: '198.51.100.20', [String(hidden.id)]: '2001:db8::20' });
    const path = `/api/delete/${hidden.id}`;
    expect((await server.send(path, { method: 'DELETE', from: '198.51.100.99' })).status).toBe(403);
    const asAdmin = { method: 'DELETE', from: '198.51.100.99', headers: ADMIN };
    expect((await server.send(path, asAdmin)).status).toBe(200);
  });

  test('walks through all images by cursor, however many come meanwhile', async () => {
    interface Page {
      images: { id: string }[];
      next: string | null;
    }
    const pageAt = async (cursor: string) =>
      json<Page>(await server.send(`/api/admin/images?per_page=2&cursor=${cursor}`, { headers: ADMIN }));
    const stored: string[] = [];
    while (stored.length < 5) stored.push(String((await json(await server.upload())).id));
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { images, next }: Page = await pageAt(cursor);
      seen.push(...images.map(({ id }) => id));
      cursor = next;
      await server.upload();
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(stored));
    expect((await server.send('/api/admin/images?cursor=!', { headers: ADMIN })).status).toBe(400);
  });
});

describe('looks', () => {
  const send = async (picture: Sharp, query = '') =>
    server.send(`/api/upload?${query}`, {
      method: 'POST',
      body: new Uint8Array(await picture.png().toBuffer()),
    });
  const striped = () => quarters(300, 200).rotate(20, { background: '#123' });

  test('find images that look alike, and a block also refuses images that look like the blocked one', async () => {
    const [one, smaller, other] = await Promise.all([
      send(striped()),
      send(striped().resize(150), 'format=jpeg&password=x'),
      send(quarters(300, 200)),
    ]);
    const { id } = await json(one);
    const near = await json(await server.send(`/api/admin/images?near=${id}`, { headers: ADMIN }));
    const images = near.images as { id: string; distance: number; phash: string }[];
    expect(images.map((image) => image.id).sort()).toEqual([id, (await json(smaller)).id].map(String).sort());
    expect(images[0]?.distance).toBe(0);
    expect(images.some((image) => image.id === (other as unknown as { id: string }).id)).toBe(false);
    expect((await server.send('/api/admin/images?near=000000000000', { headers: ADMIN })).status).toBe(404);
    expect((await server.send('/api/admin/images?near=x', { headers: ADMIN })).status).toBe(400);

    const phash = images[0]?.phash;
    expect((await block({ phash, reason: 'again' })).status).toBe(200);
    const refused = await send(striped().resize(200), 'format=webp');
    expect([refused.status, (await json(refused)).code]).toEqual([403, 'forbidden']);
    expect((await send(quarters(300, 200))).status).toBe(201);
    const { phashes } = await json(await server.send('/api/admin/blocks', { headers: ADMIN }));
    expect(phashes).toMatchObject([{ phash, reason: 'again' }]);
    expect((await unblock(`phash=${phash}`)).status).toBe(200);
    expect((await send(striped().resize(200))).status).toBe(201);
    expect((await block({ phash: 'ABC' })).status).toBe(400);
  });

  test('come as a ThumbHash with info and list', async () => {
    const { id } = await json(await send(striped()));
    const info = await json(await server.send(`/api/info/${id}`));
    expect(info.thumbhash).toMatch(/^[\w+/]{20,}=*$/);
    const { images } = (await json(await server.send('/api/list'))) as { images: { thumbhash: string }[] };
    expect(images[0]?.thumbhash).toBe(String(info.thumbhash));
  });
});

describe('a blocked network', () => {
  test('can read but not change anything, until it is unblocked', async () => {
    expect((await block({ network: '198.51.100.0/25', reason: 'spam' })).status).toBe(200);
    const refused = await server.upload('', '198.51.100.5');
    expect(refused.status).toBe(403);
    expect(await json(refused)).toMatchObject({ code: 'forbidden' });
    expect((await server.send('/api/list', { from: '198.51.100.5' })).status).toBe(200);
    const other = await server.upload('max_views=2', '198.51.100.200');
    expect(other.status).toBe(201);
    // A look changes nothing, though a button sends it.
    const { id, delete_token } = (await json(other)) as { id: string; delete_token: string };
    const token = { token: delete_token, delete: '' };
    const form = (fields: Record<string, string>) => {
      const data = new FormData();
      for (const [name, value] of Object.entries(fields)) data.set(name, value);
      return data;
    };
    const look = await server.send(`/i/${id}.webp/view`, { method: 'POST', from: '198.51.100.5' });
    expect(look.status).toBe(200);
    const hidden = (await json(await server.upload('password=tea', '198.51.100.200'))) as { id: string };
    const posts = [
      [`/i/${hidden.id}`, new URLSearchParams({ password: 'tea' })],
      ['/preferences', new URLSearchParams({ language: 'en' })],
      ['/report', new URLSearchParams({ image: hidden.id })],
    ] as const;
    for (const [path, body] of posts) {
      const { status } = await server.send(path, { method: 'POST', body, from: '198.51.100.5' });
      expect([path, status]).not.toEqual([path, 403]);
    }
    for (const body of [form(token), new URLSearchParams(token)]) {
      const managed = await server.send(`/i/${id}.webp`, { method: 'POST', body, from: '198.51.100.5' });
      expect([managed.status, await managed.text()]).toEqual([403, expect.stringContaining('was blocked')]);
    }
    const { networks } = (await json(await server.send('/api/admin/blocks', { headers: ADMIN }))) as {
      networks: unknown[];
    };
    expect(networks).toMatchObject([{ network: '198.51.100.0/25', reason: 'spam' }]);
    expect((await unblock('')).status).toBe(400);
    expect((await unblock('network=198.51.100.77/25')).status).toBe(200);
    expect((await unblock('network=198.51.100.0/25')).status).toBe(404);
    // More than IPv4, although it is spelt as such.
    const network = '::ffff:192.0.2.0/90';
    expect((await block({ network })).status).toBe(200);
    expect((await unblock(`network=${network}`)).status).toBe(200);
    expect((await server.upload('', '198.51.100.5')).status).toBe(201);
  });

  test('does not shut administrators and moderators out, with a token or at their pages', async () => {
    const made = await server.post('/api/admin/tokens', { name: 'mod', role: 'moderator' }, ADMIN);
    const { token } = (await made.json()) as { token: string };
    const browser = adminBrowser(server);
    await browser.login(ADMIN_TOKEN);
    const form = await browser.form();
    const { id } = await json(await server.upload());
    await block({ network: '0.0.0.0/0' });
    const act = () => browser.post('/admin/tokens', { form, name: 'other', role: 'upload' });
    expect([(await act()).status, (await browser.login(token)).status]).toEqual([200, 303]);
    const headers = { authorization: `Bearer ${token}` };
    const hash = 'a'.repeat(64);
    expect((await server.post('/api/admin/blocks', { hash }, headers)).status).toBe(200);
    const body = new URLSearchParams({ token: 'x', delete: '' });
    for (const [by, status] of [
      [{}, 403],
      [headers, 200],
    ] as const)
      expect((await server.send(`/i/${id}.webp`, { method: 'POST', body, headers: by })).status).toBe(status);
    expect((await unblock(`hash=${hash}`)).status).toBe(200);
    expect((await server.upload()).status).toBe(403);
    const guess = { authorization: 'Bearer wrong', 'x-forwarded-for': '198.51.100.9' };
    const guesses = await Promise.all(
      Array.from({ length: 11 }, () => server.post('/api/admin/blocks', { hash }, guess)),
    );
    expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(401), 429]);
    expect((await unblock('network=0.0.0.0/0')).status).toBe(200);
  });

  test('must be a network', async () => {
    expect((await block({ network: 'everybody' })).status).toBe(400);
    expect((await block({ network: '192.0.2.1 and others' })).status).toBe(400);
    expect((await block({})).status).toBe(400);
  });
});

describe('a blocked file', () => {
  test('is refused by the hash of what was uploaded, in whatever format it would be stored, in capitals as well', async () => {
    const hash = createHash('sha256').update(PNG).digest('hex');
    expect((await block({ hash: hash.toUpperCase() })).status).toBe(200);
    for (const format of ['webp', 'png', 'jpeg']) {
      expect((await server.upload(`format=${format}`)).status).toBe(403);
    }
    expect((await unblock(`hash=${hash.toUpperCase()}`)).status).toBe(200);
    expect((await server.upload()).status).toBe(201);
  });

  test('is refused by the hash of what would be stored, which the list shows', async () => {
    const { id } = await json(await server.upload('format=gif'));
    const page = await server.send('/api/admin/images', { headers: ADMIN });
    const { images } = (await page.json()) as { images: { id: string; hash: string }[] };
    const { hash } = images.find((image) => image.id === id) ?? {};
    await block({ hash });
    expect((await server.upload('format=gif')).status).toBe(403);
    expect((await server.upload('format=png')).status).toBe(201);
  });
});

test('the contact for abuse stands on the pages and in the statistics', async () => {
  expect(await (await server.send('/')).text()).toContain('href="/contact"');
  expect(await json(await server.send('/api/stats'))).toMatchObject({ abuse_contact: 'abuse@img.example' });
});

test('what was stored is logged with its hashes, so that it can be blocked later', async () => {
  const { id } = await json(await server.upload('', '198.51.100.77'));
  const { facts } = server.logged.find(({ facts: one }) => one.id === id) ?? {};
  expect(facts).toMatchObject({
    peer: '198.51.100.77',
    source: createHash('sha256').update(PNG).digest('hex'),
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});
