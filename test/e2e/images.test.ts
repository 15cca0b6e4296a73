import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { qrSvg } from '../../src/lib/qr-code.ts';
import { type Contract, loadContract } from '../support/documents/contract.ts';
import { zipFiles } from '../support/images/album-sights.ts';
import type { UploadAnswer } from '../support/images/image-host.ts';
import { privatePhoto, transparent } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';

type Fields = Record<string, string>;

describe.each(['bun', 'deno'] as const)('the image host on %s', (runtime) => {
  let server: ServerProcess;
  let contract: Contract;

  async function call(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const answer = await fetch(new URL(path, server.url), { redirect: 'manual', ...init, method });
    await contract.check(method, new URL(path, server.url).pathname, answer);
    return answer;
  }

  const callWith = (method: string, path: string, value: unknown, headers?: Fields) =>
    call(method, path, asJson(method, value, headers));

  const bodyModes: Record<string, (image: Buffer, name: string, fields?: Fields) => Promise<Response>> = {
    multipart(image, name, fields = {}) {
      const form = new FormData();
      for (const [field, value] of Object.entries(fields)) form.set(field, value);
      form.set('image', new File([new Uint8Array(image)], name));
      return call('POST', '/api/upload', { body: form });
    },
    raw: (image, name, fields = {}) =>
      call('POST', `/api/upload?${new URLSearchParams({ ...fields, filename: name })}`, {
        body: new Uint8Array(image),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
  };

  async function upload(
    image: Buffer,
    name: string,
    fields?: Fields,
    mode = 'multipart',
  ): Promise<UploadAnswer> {
    const answer = await bodyModes[mode]?.(image, name, fields);
    if (answer?.status !== 201) throw new Error(`upload answered ${answer?.status}: ${await answer?.text()}`);
    return json<UploadAnswer>(answer);
  }

  async function download(url: string): Promise<Buffer> {
    const answer = await call('GET', url);
    expect(answer.status).toBe(200);
    return Buffer.from(await answer.arrayBuffer());
  }

  const temporaryFiles = () => readdir(join(server.folder, 'tmp')).catch(() => []);

  beforeAll(async () => {
    server = await startServer(runtime, { SERVICES: 'image', RATE_LIMITS: 'off', IMAGE_MAX_UPLOAD: '2MiB' });
    contract = await loadContract(server.url);
  }, 180_000);

  afterAll(async () => {
    const left = await temporaryFiles();
    expect(await server.stop()).toBe(0);
    expect(left).toEqual([]);
    expect(contract.untouched('Image host')).toEqual([]);
  });

  test.each(['multipart', 'raw'])(
    'a %s upload answers with every link, and its uploader deletes it',
    async (mode) => {
      const image = await upload(await transparent(), 'holiday "1" <b>.png', { format: 'png' }, mode);
      expect(image).toMatchObject({
        success: true,
        url: `${server.url}/i/${image.id}`,
        raw_url: `${server.url}/i/${image.id}.png`,
        bbcode: `[img]${image.raw_url}[/img]`,
        width: 64,
        height: 48,
        format: 'png',
      });
      expect(image.markdown).toEndWith(`](${image.raw_url})`);
      expect(image.html).toBe(`<img src="${image.raw_url}" alt="holiday &quot;1&quot; &lt;b&gt;.png">`);
      expect((await download(image.raw_url)).byteLength).toBe(image.size);
      const viewed = await call('POST', `${image.raw_url}/view`);
      expect([viewed.status, (await viewed.bytes()).byteLength]).toEqual([200, image.size]);
      const preview = await call('GET', `${image.url}/preview.jpg`);
      expect([preview.status, preview.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
      await preview.bytes();
      expect(await json(await call('DELETE', `/api/delete/${image.id}`))).toMatchObject({ success: true });
      expect((await call('GET', image.raw_url)).status).toBe(404);
    },
  );

  test('a direct link answers ETag, Range and HEAD', async () => {
    const { raw_url, size } = await upload(await privatePhoto('jpeg'), 'p.jpg');
    const whole = await download(raw_url);
    const head = await call('HEAD', raw_url);
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(size)]);
    const etag = head.headers.get('etag') ?? '';
    const unchanged = await call('GET', raw_url, { headers: { 'if-none-match': etag } });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
    const part = await call('GET', raw_url, { headers: { range: 'bytes=10-19' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${size}`]);
    expect(Buffer.from(await part.arrayBuffer()).equals(whole.subarray(10, 20))).toBe(true);
    expect((await call('GET', raw_url, { headers: { range: `bytes=${size}-` } })).status).toBe(416);
  });

  test('a protected image opens with its password only, and is in no list', async () => {
    const image = await upload(await transparent(), 'hidden-name.png', { password: '[1,2]' });
    const closed = await call('GET', image.raw_url);
    expect(closed.status).toBe(401);
    expect(await json(closed)).toMatchObject({ success: false, code: 'password_required' });
    const page = await call('GET', image.url);
    expect(page.status).toBe(401);
    expect(await page.text()).not.toContain('hidden-name');
    expect((await call('GET', `/api/info/${image.id}`)).status).toBe(401);
    expect((await call('GET', image.raw_url, { headers: { 'x-image-password': 'wrong' } })).status).toBe(401);
    const opened = await call('GET', image.raw_url, { headers: { 'x-image-password': '[1,2]' } });
    expect([opened.status, opened.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
    const found = await call('GET', '/api/search?q=hidden');
    expect(await json(found)).toMatchObject({ total: 0, images: [] });
  });

  test('the form of the page sets a cookie that opens the image', async () => {
    const image = await upload(await transparent(), 'x.png', { password: 'open sesame' });
    const answer = await call('POST', image.url, {
      headers: { accept: 'text/html' },
      body: new URLSearchParams({ password: 'open sesame' }),
    });
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(answer.status).toBe(303);
    expect(cookie).toMatch(/HttpOnly/i);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await call('GET', image.raw_url, { headers })).status).toBe(200);
  });

  test('the QR code of an image holds the link to its page', async () => {
    const image = await upload(await transparent(), 'x.png');
    const answer = await call('GET', `${image.url}/qr.svg`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(await answer.text()).toBe(qrSvg(image.url));
    expect((await call('GET', image.url.replace(/\w+$/, 'AAAAAAAAAAAA/qr.svg'))).status).toBe(404);
  });

  test('an image is found by any part of its name, and listed newest first', async () => {
    const first = await upload(await transparent(), 'Zwiebelkuchen im Ofen.png');
    const second = await upload(await transparent(), 'zwiebelKUCHEN.png');
    const found = await json<{ total: number; query: string; images: { id: string }[] }>(
      await call('GET', '/api/search?q=ELKUCH'),
    );
    expect(found).toMatchObject({ success: true, total: 2, query: 'ELKUCH' });
    expect(found.images.map(({ id }) => id)).toEqual([second.id, first.id]);
    const page = await json(await call('GET', '/api/list?page=1&per_page=1'));
    expect(page).toMatchObject({ success: true, page: 1, per_page: 1, images: [{ id: second.id }] });
  });

  test('info and stats tell what is there', async () => {
    const image = await upload(await transparent(), 'info.png');
    expect(await json(await call('GET', `/api/info/${image.id}`))).toMatchObject({
      success: true,
      id: image.id,
      filename: 'info.png',
      raw_url: image.raw_url,
      html: image.html,
    });
    const embedded = await call('GET', `/oembed?url=${encodeURIComponent(image.url)}`);
    expect(await json(embedded)).toMatchObject({ type: 'photo', url: image.raw_url });
    const stats = await json<{ images: number; bytes: number }>(await call('GET', '/api/stats'));
    expect(stats.images).toBeGreaterThan(0);
    expect(stats.bytes).toBeGreaterThan(0);
  });

  test('who holds the token may change who sees an image', async () => {
    const { id, delete_token } = await upload(await transparent(), 'seen.png');
    const headers = { 'x-delete-token': delete_token };
    const answer = await callWith('PATCH', `/api/image/${id}`, { visibility: 'unlisted' }, headers);
    expect([answer.status, await answer.json()]).toMatchObject([200, { id, visibility: 'unlisted' }]);
  });

  test('a cleanup removes nothing that was just opened', async () => {
    const image = await upload(await transparent(), 'kept.png');
    expect(await json(await call('POST', '/api/cleanup'))).toMatchObject({
      success: true,
      removed: 0,
      freed_bytes: 0,
    });
    expect((await call('GET', image.url)).status).toBe(200);
    expect((await call('GET', image.raw_url)).status).toBe(200);
  });

  test('the delete page of a tool asks before it deletes', async () => {
    const { id, delete_token } = await upload(await transparent(), 'tool.png');
    const page = `/i/${id}/delete?token=${delete_token}`;
    expect((await call('GET', page)).status).toBe(200);
    expect((await call('GET', `/i/${id}`)).status).toBe(200);
    const body = new URLSearchParams({ token: delete_token });
    expect((await call('POST', page, { body })).status).toBe(200);
    expect((await call('GET', `/i/${id}`)).status).toBe(404);
    expect(await json(await call('GET', '/sharex.sxcu'))).toMatchObject({
      RequestURL: `${server.url}/api/upload`,
    });
  });

  test.each([
    ['no image', () => call('POST', '/api/upload', { body: new FormData() }), 400],
    ['nothing at all', () => call('POST', '/api/upload'), 400],
    ['a text', () => bodyModes.raw?.(Buffer.from('hello'), 'a.png'), 415],
    [
      'half a photo',
      async () => bodyModes.raw?.((await privatePhoto('jpeg')).subarray(0, 900), 'a.jpg'),
      422,
    ],
    ['too many bytes', () => bodyModes.raw?.(Buffer.alloc(3 * 1024 * 1024), 'a.jpg'), 413],
    ['a strange id', () => call('GET', '/i/..%2fpicpool.db'), 404],
    ['a wrong method', () => call('PUT', '/api/upload'), 405],
  ] as const)('%s is refused with words', async (_what, send, status) => {
    const answer = await send();
    expect(answer?.status).toBe(status);
    if (!answer?.headers.get('content-type')?.startsWith('application/json')) return;
    expect(await json(answer)).toMatchObject({ success: false, error: expect.any(String) });
  });

  test('an album takes pictures in, gives them out in its order, and goes', async () => {
    const made = await callWith('POST', '/api/albums', { title: 'Harbour' });
    expect((await call('POST', '/api/albums')).status).toBe(201);
    const { id, token } = await json<{ id: string; token: string }>(made);
    const headers = { 'x-album-token': token };
    const path = `/api/albums/${id}`;
    const first = await upload(await transparent(), 'first.png', { album: id, album_token: token });
    const secret = await upload(await transparent(), 'secret.png', {
      ...{ album: id, album_token: token, password: 'x' },
    });
    const other = await upload(await transparent(), 'other.png');
    const added = { images: [{ id: other.id, delete_token: other.delete_token }] };
    expect((await callWith('POST', `${path}/images`, added, headers)).status).toBe(200);
    expect((await callWith('PATCH', path, { images: [other.id] }, headers)).status).toBe(200);
    expect(await json(await call('GET', path))).toMatchObject({
      title: 'Harbour',
      images: [{ id: other.id }, { id: first.id }, { id: secret.id, locked: true }],
    });
    expect(await (await call('GET', `/a/${id}`)).text()).toContain('Harbour');
    const zip = await call('GET', `/a/${id}.zip`);
    expect([...zipFiles(await zip.bytes()).keys()]).toEqual(['01 other.webp', '02 first.webp']);
    expect((await call('DELETE', `${path}/images/${other.id}`, { headers })).status).toBe(200);
    expect((await call('DELETE', path, { headers })).status).toBe(200);
    expect((await call('GET', path)).status).toBe(404);
    expect((await call('GET', first.url)).status).toBe(200);
  });

  test('a guest adds to an album by an invitation, which then goes', async () => {
    const made = await callWith('POST', '/api/albums', { title: 'Guests' });
    const { id, token } = await json<{ id: string; token: string }>(made);
    const keeper = { 'x-album-token': token };
    const path = `/api/albums/${id}/invites`;
    const invited = await callWith('POST', path, { expires_in: '1d', max: 2 }, keeper);
    const { url, id: invite } = await json<{ url: string; id: string }>(invited);
    expect((await call('GET', url)).status).toBe(200);
    const form = new FormData();
    form.append('image', new File([new Uint8Array(await transparent())], 'mine.png'));
    const added = await call('POST', url, { body: form });
    expect(added.status).toBe(201);
    const { id: picture } = await json<{ id: string }>(added);
    expect(await (await call('GET', `/a/${id}/${picture}`)).text()).toContain('Guests');
    const listed = await json<{ invites: { used: number }[] }>(await call('GET', path, { headers: keeper }));
    expect(listed.invites.map(({ used }) => used)).toEqual([1]);
    expect((await call('DELETE', `${path}/${invite}`, { headers: keeper })).status).toBe(200);
    expect((await call('GET', url)).status).toBe(403);
  });

  test('a report has a receipt, and an encrypted list is read once', async () => {
    const { id } = await upload(await transparent(), 'reported.png');
    const body = { image: id, reason: 'privacy', text: 'That is mine.' };
    const reported = await callWith('POST', '/api/reports', body);
    const { receipt } = await json<{ receipt: string }>(reported);
    expect(await json(await call('GET', `/api/reports/${receipt}`))).toMatchObject({ state: 'open' });
    const given = await call('POST', '/api/handovers', { body: 'q83v_w' });
    const place = `/api/handovers/${(await json<{ id: string }>(given)).id}`;
    expect(await json(await call('POST', place))).toMatchObject({ sealed: 'q83v_w' });
    expect((await call('POST', place)).status).toBe(404);
  });
});
