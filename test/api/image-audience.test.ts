import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createImageService, type ImageEvent } from '../../src/image/service.ts';
import { DAY_MS, HOUR_MS, type ImageHost, pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';

const hosts = imageHosts();
let host: ImageHost;
const picture = new Uint8Array(await photo(200, 100));

/** A host for one test, with what it changes. */
const withHost = (change: Partial<ImageHost['limits']>, work: (host: ImageHost) => Promise<void>) =>
  hosts.use(work, { change: ({ limits }) => ({ limits: { ...limits, ...change } }) });

interface Fault {
  error: string;
  code: string;
  details: { field: string }[];
}

/** What the tests read of an answer. */
interface Answer extends UploadAnswer {
  visibility: string;
  expires_at: string | null;
  max_views: number | null;
  views_left: number | null;
}

const upload = async (query: string, on = host) =>
  json<Answer>(await on.send(`/api/upload?${query}`, { method: 'POST', body: picture }));
const listed = async (on = host) => {
  const { images } = (await json(await on.send('/api/list'))) as { images: { id: string }[] };
  const found = await json(await on.send('/api/search?q=webp'));
  expect(found.images).toEqual(images);
  return images.map(({ id }) => id);
};

beforeEach(async () => {
  host = await hosts.start();
});
afterEach(() => host.stop());

describe('who sees a picture', () => {
  test('is not found by search engines if it is unlisted', async () => {
    const { id, url, raw_url } = await upload('visibility=unlisted');
    const [page, file] = [await host.send(pathOf(url)), await host.send(pathOf(raw_url))];
    for (const { headers } of [page, file]) expect(headers.get('x-robots-tag')).toBe('noindex');
    const html = await page.text();
    expect(html).toContain('<meta name="robots" content="noindex">');
    expect(html).toContain('Anyone with the link');
    expect((await json(await host.send(`/api/info/${id}`))).visibility).toBe('unlisted');
  });

  test.each([
    ['visibility=protected', 'visibility', 'needs a password'],
    ['visibility=public&password=x', 'visibility', 'A picture with a password is protected'],
    ['visibility=unlisted&password=x', 'visibility', 'leave out the password'],
    ['visibility=hidden', 'visibility', 'must be one of public, unlisted, protected'],
    ['visibility=public&max_views=3', 'visibility', 'cannot be listed'],
    ['max_views=0', 'max_views', 'from 1 to 10000'],
    ['max_views=2.5', 'max_views', 'from 1 to 10000'],
    ['expires_in=5m', 'expires_in', 'from 10m to 10y'],
    ['expires_in=11y', 'expires_in', 'from 10m to 10y'],
    ['expires_in=soon', 'expires_in', 'such as 30m'],
    ['expires_in=never', 'expires_in', 'at most 10y on this server'],
  ])('%s is refused in words, and nothing is stored', async (query, field, words) => {
    const answer = await host.send(`/api/upload?${query}`, { method: 'POST', body: picture });
    const body = await json<Fault>(answer);
    expect([answer.status, body.code, body.details[0]?.field]).toEqual([400, 'invalid_parameter', field]);
    expect(body.error).toContain(words);
    expect(await host.files()).toEqual([]);
  });

  test('the options of a form count as those of a query do', async () => {
    const body = new FormData();
    body.set('image', new Blob([picture]), 'a.png');
    body.set('visibility', 'Unlisted');
    body.set('expires_in', '1h');
    body.set('max_views', '');
    const answer = await json<Answer>(await host.send('/api/upload', { method: 'POST', body }));
    expect(answer).toMatchObject({ visibility: 'unlisted', max_views: null, views_left: null });
    expect(answer.expires_at).toBe(
      new Date(host.clock.ms + HOUR_MS).toISOString().slice(0, 19).replace('T', ' '),
    );
  });

  test('if the operator chose unlisted, lists include only pictures that asked for it', () =>
    withHost({ listing: 'unlisted' }, async (own) => {
      expect((await upload('', own)).visibility).toBe('unlisted');
      const shown = await upload('visibility=public', own);
      expect(await listed(own)).toEqual([shown.id]);
    }));

  test('without a gallery, lists and searches are empty, and nothing becomes public', () =>
    withHost({ listing: 'off' }, async (own) => {
      const { visibility, url } = await upload('', own);
      expect(visibility).toBe('unlisted');
      const refused = await own.send('/api/upload?visibility=public', { method: 'POST', body: picture });
      expect([refused.status, (await json(refused)).error]).toEqual([
        400,
        'This server lists no pictures; visibility must be unlisted or protected.',
      ]);
      for (const path of ['/api/list', '/api/search?q=w']) {
        expect(await json(await own.send(path))).toMatchObject({
          images: [],
          total: 0,
          pages: 0,
          next: null,
        });
      }
      expect((await own.send(pathOf(url))).status).toBe(200);
      const form = await (await own.send('/')).text();
      expect(form).toContain('<option value="unlisted" selected>Anyone with the link</option>');
      expect(form).not.toContain('<option value="public"');
    }));
});

describe('an expiry', () => {
  test('ends a picture for every way to it at once, and its files with the next look', async () => {
    const { id, url, raw_url } = await upload('expires_in=10m');
    expect((await host.send(`${pathOf(raw_url)}?w=160`)).status).toBe(200);
    expect(await host.files()).toHaveLength(2);
    expect(await listed()).toEqual([id]);
    host.clock.ms += 10 * 60_000 - 1;
    expect((await host.send(pathOf(raw_url))).status).toBe(200);
    host.clock.ms += 1;
    const ways = [url, raw_url, `${raw_url}?w=160`].map((link) => pathOf(link));
    for (const path of [...ways, `/api/info/${id}`, `/oembed?url=${encodeURIComponent(url)}`]) {
      const answer = await host.send(path);
      expect([path, answer.status, (await json(answer)).code]).toEqual([path, 410, 'gone']);
    }
    expect(await listed()).toEqual([]);
    await host.service.removeEnded();
    expect((await host.files()).filter((name) => name.startsWith(id))).toEqual([]);
    expect((await host.send(pathOf(url))).status).toBe(410);
    expect(await host.images.get(id)).toBeNull();
  });

  test('of many is carried out once by copies that meet at it, smaller versions too', async () => {
    const removed: string[] = [];
    const onEvent = ({ type, image }: ImageEvent) => type === 'removed' && removed.push(image.id);
    const copies = await Promise.all(
      Array.from({ length: 2 }, () => createImageService({ ...host, onEvent })),
    );
    const images: Answer[] = [];
    while (images.length < 30) images.push(await upload('expires_in=10m'));
    for (const { raw_url } of images) await (await host.send(`${pathOf(raw_url)}?w=160`)).bytes();
    expect(await host.files()).toHaveLength(60);
    expect(Number(await host.state.get('image-version-bytes'))).toBeGreaterThan(1000);
    host.clock.ms += 10 * 60_000;
    await Promise.all(copies.map((copy) => copy.removeEnded()));
    expect(await host.files()).toEqual([]);
    expect(removed.sort()).toEqual(images.map(({ id }) => id).sort());
    // Another copy than those that removed them had made the smaller versions.
    expect(await host.state.get('image-version-bytes')).toBe('0');
    await Promise.all(copies.map((copy) => copy.stop()));
  });

  test('tells a person in a page', async () => {
    const { raw_url } = await upload('expires_in=10m');
    host.clock.ms += 10 * 60_000;
    const page = await host.send(pathOf(raw_url), { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([410, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain('This picture is gone');
  });

  test('takes the place of the cleanup, and lets caches keep the file no longer', async () => {
    const year = await upload('expires_in=1y');
    const idle = await upload('');
    expect((await host.send(pathOf(year.raw_url))).headers.get('cache-control')).toBe(
      'public, max-age=86400, stale-while-revalidate=60',
    );
    await host.serve(100 * DAY_MS);
    await host.service.cleanup(1000, true);
    expect((await host.send(pathOf(idle.raw_url))).status).toBe(404);
    host.clock.ms += 265 * DAY_MS - 90_500;
    const late = await host.send(pathOf(year.raw_url));
    expect([late.status, late.headers.get('cache-control')]).toEqual([
      200,
      'public, max-age=30, stale-while-revalidate=60',
    ]);
    host.clock.ms += 31_000;
    const last = await host.send(pathOf(year.raw_url));
    expect(last.headers.get('cache-control')).toBe('public, max-age=0');
  });

  test('of never needs the leave of the operator, and outlasts the cleanup', () =>
    withHost({ maxExpiryMs: Number.POSITIVE_INFINITY }, async (own) => {
      const { expires_at, raw_url } = await upload('expires_in=never', own);
      expect(expires_at).toBe('never');
      await own.serve(5000 * DAY_MS);
      await own.service.cleanup(1000, true);
      expect((await own.send(pathOf(raw_url))).status).toBe(200);
    }));

  test('may be bounded by the operator', () =>
    withHost({ maxExpiryMs: 7 * DAY_MS }, async (own) => {
      const home = await (await own.send('/', { headers: { accept: 'text/html' } })).text();
      expect(['1w', '30d'].map((time) => home.includes(`value="${time}"`))).toEqual([true, false]);
      const refused = await own.send('/api/upload?expires_in=8d', { method: 'POST', body: picture });
      expect((await json(refused)).error).toBe('expires_in must be at most 7d on this server.');
      expect((await upload('expires_in=1w', own)).expires_at).not.toBeNull();
    }));
});

describe('a limit of views', () => {
  const read = async (path: string, init?: RequestInit) => {
    const answer = await host.send(path, init);
    return { status: answer.status, bytes: (await answer.bytes()).length, headers: answer.headers };
  };

  test('lets so many see it whole, whatever they ask for, and then nobody', async () => {
    const { id, url, raw_url, size, views_left, visibility } = await upload('max_views=3');
    expect([views_left, visibility]).toEqual([3, 'unlisted']);
    const path = pathOf(raw_url);
    const asked: RequestInit[] = [
      {},
      { headers: { range: 'bytes=0-9' } },
      { headers: { 'if-none-match': '*' } },
    ];
    for (const init of asked) {
      const { status, bytes, headers } = await read(asked[0] === init ? `${pathOf(url)}?auto` : path, init);
      expect([status, bytes, headers.get('cache-control'), headers.get('etag')]).toEqual([
        200,
        size,
        'private, no-store',
        null,
      ]);
    }
    expect(await host.files()).toEqual([]);
    for (const gone of [path, pathOf(url), `${pathOf(url)}?auto`, `/api/info/${id}`])
      expect((await host.send(gone)).status).toBe(410);
  });

  test('does not count HEAD, the page, what is known of it, programs that show previews, and its uploader', async () => {
    const { id, url, raw_url, size, delete_token } = await upload('max_views=1');
    const path = pathOf(raw_url);
    expect((await host.send(path, { method: 'HEAD' })).headers.get('content-length')).toBe(String(size));
    const page = await (await host.send(pathOf(url))).text();
    expect(page).toContain('1 more time.');
    expect(page).not.toMatch(/<img|og:image|oembed/);
    expect(await json(await host.send(`/oembed?url=${encodeURIComponent(url)}`))).toMatchObject({
      type: 'link',
      title: 'A picture',
    });
    for (const headers of [{ 'user-agent': 'Slackbot-LinkExpanding 1.0' }, { 'sec-purpose': 'prefetch' }]) {
      const preview = await host.send(path, { headers });
      expect([preview.status, preview.headers.get('content-type')]).toEqual([
        200,
        'text/html; charset=utf-8',
      ]);
    }
    const version = await host.send(`${path}?w=160`);
    expect([version.status, (await json<Fault>(version)).details[0]?.field]).toEqual([400, 'w']);
    for (let look = 0; look < 3; look++) {
      expect(await read(path, { headers: { 'x-delete-token': delete_token } })).toMatchObject({
        status: 200,
        bytes: size,
      });
    }
    expect(await json(await host.send(`/api/info/${id}`))).toMatchObject({ max_views: 1, views_left: 1 });
    expect((await read(path, { headers: { 'x-delete-token': 'x'.repeat(32) } })).bytes).toBe(size);
    expect((await host.send(path)).status).toBe(410);
  });

  test('is seen in the browsers that chat apps bring along, by its link and by its button', async () => {
    const phone =
      'Mozilla/5.0 (Linux; Android 14; CUBOT X50) AppleWebKit/537.36 Chrome/126.0.0.0 Mobile Safari/537.36';
    const apps = [
      `${phone} Telegram-Android/11.2.3 (Samsung SM-S911B; Android 14; SDK 34; HIGH)`,
      `${phone} Snapchat/12.52.0.41 (SM-G991B; Android 14)`,
      `${phone} Twitter for iPhone/10.44`,
      `${phone} [LinkedInApp]/9.29`,
      `${phone} Slack/24.5.0 Electron/30`,
      `${phone} [Pinterest/iOS]`,
      `${phone} Viber/22.1`,
    ];
    for (const agent of apps) {
      const headers = { 'user-agent': agent, accept: 'text/html' };
      for (const [method, suffix] of [
        ['GET', ''],
        ['POST', '/view'],
      ] as const) {
        const { raw_url, size } = await upload('max_views=1');
        const path = pathOf(raw_url);
        expect(await read(path + suffix, { method, headers })).toMatchObject({ status: 200, bytes: size });
        expect((await host.send(path, { headers })).status).toBe(410);
      }
    }
  });

  test('is not seen by robots, but by a person whose browser claims to be one, with the button of its page', async () => {
    const robots = [
      'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
      'TelegramBot (like TwitterBot)',
      'WhatsApp/2.23.20.0 A',
      'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
      'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
      'Twitterbot/1.0',
      'Mozilla/5.0 (compatible; unheard-of/1.0; +https://robot.example/)',
    ];
    const { url, raw_url, size } = await upload('max_views=1');
    const path = pathOf(raw_url);
    for (const agent of robots) {
      const answer = await host.send(path, { headers: { 'user-agent': agent } });
      expect([agent, answer.headers.get('content-type')]).toEqual([agent, 'text/html; charset=utf-8']);
    }
    expect(await (await host.send(pathOf(url))).text()).toContain(
      `<form method="post" action="${path}/view">`,
    );
    const asked = { method: 'POST', headers: { 'user-agent': robots[0] ?? '' } };
    expect(await read(`${path}/view`, asked)).toMatchObject({ status: 200, bytes: size });
    expect((await host.send(`${path}/view`, asked)).status).toBe(410);
  });

  test('gives back the view of a transfer that breaks, and meanwhile says that it is being sent', async () => {
    const { raw_url, size } = await upload('max_views=1');
    const path = pathOf(raw_url);
    for (let round = 0; round < 2; round++) {
      const sending = await host.send(path);
      const waiting = await host.send(path);
      expect([waiting.status, waiting.headers.has('retry-after')]).toEqual([429, true]);
      await sending.body?.cancel();
    }
    expect((await read(path)).bytes).toBe(size);
    expect((await host.send(path)).status).toBe(410);
  });

  test('gives back two views in a month, and no more', async () => {
    const { raw_url } = await upload('max_views=2');
    let answered = 0;
    for (; answered < 100; answered++) {
      const sending = await host.send(pathOf(raw_url));
      if (sending.status !== 200) break;
      await sending.body?.cancel();
    }
    expect(answered).toBe(4);
  });

  test('is not used up by a file that is missing', async () => {
    const { id, raw_url } = await upload('max_views=1');
    await host.blobs.remove(`${id}.webp`);
    expect((await host.send(pathOf(raw_url))).status).toBe(404);
    expect((await host.images.get(id))?.viewsLeft).toBe(1);
  });
});

test('a direct link to a protected picture leads who opens it in a browser to the form, and tells programs in JSON', async () => {
  const { url, raw_url } = await upload('password=secret');
  const browser = await host.send(pathOf(raw_url), { headers: { accept: 'text/html,*/*' } });
  expect([browser.status, browser.headers.get('location')]).toEqual([303, pathOf(url)]);
  expect((await host.send(pathOf(raw_url))).status).toBe(401);
  const embedded = await host.send(pathOf(raw_url), { headers: { accept: 'image/webp,*/*' } });
  expect(embedded.status).toBe(401);
});
