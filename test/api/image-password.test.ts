import { beforeAll, describe, expect, test } from 'bun:test';
import { type ImageHost, pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';

const PASSWORD = 'пароль & "more"';
const NAME = 'confidential-plans.png';

const hosts = imageHosts();
let host: ImageHost;
let image: UploadAnswer;
let file: string;
let page: string;

beforeAll(async () => {
  host = await hosts.start();
  const query = new URLSearchParams({ password: PASSWORD, filename: NAME });
  image = await host.upload(new Uint8Array(await photo(400, 300)), query.toString());
  file = pathOf(image.raw_url);
  page = pathOf(image.url);
});

let peers = 0;
/** Each visitor has a network of its own, so that the guesses of one test are not counted in another. */
const newPeer = () => `203.0.${++peers}.7`;
const latin1 = (text: string) => Buffer.from(text).toString('latin1');
const submit = (password: string, peer = newPeer(), accept = 'text/html') =>
  host.send(page, { method: 'POST', headers: { accept }, body: new URLSearchParams({ password }) }, peer);

/** Reads the answer; returns its text. */
async function expectNoMetadata(answer: Response): Promise<string> {
  expect(answer.headers.get('cache-control')).toContain('no-store');
  for (const name of ['etag', 'last-modified', 'content-disposition'])
    expect(answer.headers.get(name)).toBeNull();
  const text = await answer.text();
  expect(text).not.toContain('confidential');
  expect(text).not.toContain('og:');
  expect(text).not.toContain('.webp');
  expect(text).not.toContain(String(image.size));
  return text;
}

describe('without its password a protected image', () => {
  test('is 401 in JSON on the direct link, and no dialog of the browser', async () => {
    for (const path of [file, `${file}?w=160`, `/api/info/${image.id}`]) {
      const answer = await host.send(path);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('ImagePassword realm="picpool"');
      const error = JSON.parse(await expectNoMetadata(answer));
      expect(error).toMatchObject({ success: false, code: 'password_required' });
    }
  });

  test('does not tell its format by the extension', async () => {
    expect((await host.send(`/i/${image.id}.png`)).status).toBe(401);
    expect((await host.send(`/i/${image.id}.png?password=${encodeURIComponent(PASSWORD)}`)).status).toBe(404);
  });

  test('is not revealed by conditional requests, ranges or HEAD', async () => {
    for (const init of [
      { headers: { 'if-none-match': '*' } },
      { headers: { range: 'bytes=0-9' } },
      { headers: { range: 'bytes=999999999-' } },
      { method: 'HEAD' },
    ] as RequestInit[]) {
      const answer = await host.send(file, init);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('content-range')).toBeNull();
    }
  });

  test('has the form as its page, with status 401', async () => {
    const answer = await host.send(page);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const form = `<form method="post" action="/i/${image.id}"`;
    expect(await expectNoMetadata(answer)).toContain(form);
  });
});

describe('the password opens an image', () => {
  test.each([
    ['as a header', '', { 'x-image-password': latin1(PASSWORD) }],
    ['in the query', `password=${encodeURIComponent(PASSWORD)}`, {}],
  ] as [string, string, Record<string, string>][])('%s', async (_name, query, headers) => {
    const peer = newPeer();
    const answer = await host.send(`${file}?${query}`, { headers }, peer);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('private, no-store');
    expect((await answer.arrayBuffer()).byteLength).toBe(image.size);
    const small = await host.send(`${file}?w=160&${query}`, { headers }, peer);
    expect(small.status).toBe(200);
    expect(small.headers.get('cache-control')).toBe('private, no-store');
    const info = await host.send(`/api/info/${image.id}?${query}`, { headers }, peer);
    expect(await json(info)).toMatchObject({ filename: NAME, protected: true });
    expect(info.headers.get('cache-control')).toBe('private, no-store');
  });

  test('in the form by a program, which gets JSON with the cookie', async () => {
    const answer = await submit(PASSWORD, newPeer(), '*/*');
    expect(await json(answer)).toEqual({ success: true, id: image.id });
    expect(answer.headers.getSetCookie()).toHaveLength(3);
  });

  test('in the form, which sets a cookie for page, file and albums', async () => {
    const answer = await submit(PASSWORD);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(page);
    const cookies = answer.headers.getSetCookie();
    expect(cookies.map((cookie) => /Path=([^;]+)/.exec(cookie)?.[1])).toEqual([page, file, '/a']);
    for (const cookie of cookies) expect(cookie).toMatch(/; HttpOnly; SameSite=Lax$/);

    const headers = { cookie: cookies[0]?.split(';')[0] ?? '' };
    expect((await host.send(file, { headers })).status).toBe(200);
    const shown = await host.send(page, { headers });
    expect(shown.status).toBe(200);
    expect(shown.headers.get('cache-control')).toBe('private, no-store');
    const text = await shown.text();
    expect(text).toContain(NAME);
    expect(text).not.toContain('og:');

    host.clock.ms += 24 * 3_600_000;
    expect((await host.send(file, { headers })).status).toBe(401);
  });

  test('on the page in the query, which then sets the cookie for the picture on it', async () => {
    const answer = await host.send(`${page}?password=${encodeURIComponent(PASSWORD)}`, {}, newPeer());
    expect(answer.status).toBe(200);
    const headers = { cookie: answer.headers.getSetCookie()[1]?.split(';')[0] ?? '' };
    expect((await host.send(file, { headers })).status).toBe(200);
  });
});

test('the login of a reverse proxy in front does not count as a wrong password', async () => {
  const peer = newPeer();
  const login = { authorization: `Basic ${Buffer.from('family:site').toString('base64')}` };
  for (let count = 0; count < 12; count++)
    expect((await host.send(file, { headers: login }, peer)).status).toBe(401);
  const opened = await host.send(
    `${file}?password=${encodeURIComponent(PASSWORD)}`,
    { headers: login },
    peer,
  );
  expect(opened.status).toBe(200);
});

describe('a wrong password', () => {
  test('is 401 with a code of its own, in the form with a sentence', async () => {
    const peer = newPeer();
    const answer = await host.send(`${file}?password=guess`, {}, peer);
    expect(answer.status).toBe(401);
    expect(JSON.parse(await expectNoMetadata(answer))).toMatchObject({ code: 'wrong_password' });

    const form = await submit('guess', peer);
    expect(form.status).toBe(401);
    expect(form.headers.getSetCookie()).toEqual([]);
    expect(await expectNoMetadata(form)).toContain('Wrong password.');
  });

  test('too often is 429 with Retry-After, on the page as well', async () => {
    const peer = newPeer();
    const codes: number[] = [];
    for (let count = 0; count < 11; count++) {
      codes.push((await host.send(`${file}?password=guess-${count}`, {}, peer)).status);
    }
    expect(codes).toEqual([...Array(10).fill(401), 429]);
    const refused = await host.send(file, { headers: { 'x-image-password': 'guess' } }, peer);
    expect(await json(refused)).toMatchObject({ code: 'rate_limited' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const form = await submit('guess', peer);
    expect(form.status).toBe(429);
    expect(form.headers.get('retry-after')).toBe('10');
    expect(form.headers.get('content-type')).toStartWith('text/html');
    host.clock.ms += 10_000;
    expect((await submit('guess', peer)).status).toBe(401);
  });

  test('of a thousand kilobytes is not even read', async () => {
    const answer = await submit('x'.repeat(1_000_000));
    expect(answer.status).toBe(413);
  });

  test('in JSON is refused as no form', async () => {
    const answer = await host.send(page, {
      method: 'POST',
      body: '{"password":"x"}',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(400);
    expect(await json(answer)).toMatchObject({ code: 'invalid_body' });
  });
});
