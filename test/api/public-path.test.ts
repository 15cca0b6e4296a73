import { afterAll, beforeAll, expect, test } from 'bun:test';
import { absent } from '../support/absent.ts';
import { freePort } from '../support/free-port.ts';
import type { Balancer } from '../support/servers/balancer.ts';
import { startBelowPath } from '../support/servers/examples.ts';
import { PNG, type RunningServer, runServer, withServer } from '../support/servers/running-server.ts';

const PASSWORD = 'open sesame';

let front: Balancer;
let server: RunningServer;
let base: string;
beforeAll(async () => {
  if (absent('nginx')) return;
  const port = await freePort();
  front = await startBelowPath(`127.0.0.1:${port}`);
  base = `${front.url}/pics`;
  server = await runServer({
    PORT: String(port),
    PUBLIC_URL: `${base}/`,
    GATEWAY_PORT: '0',
    IMAGE_BASE_PATH: '/img',
  });
}, 180_000);
afterAll(async () => {
  await front?.stop();
  await server?.stop();
});

const visit = (path: string, init: RequestInit = {}) => fetch(base + path, { redirect: 'manual', ...init });
const ofPerson = { accept: 'text/html' };

async function upload(query = ''): Promise<Record<string, string>> {
  const stored = await visit(`/img/api/upload?${query}`, { method: 'POST', body: PNG });
  expect(stored.status).toBe(201);
  return (await stored.json()) as Record<string, string>;
}

/** Where the links, forms, pictures, scripts and styles of a page lead to, as a browser resolves them. */
function targetsOf(page: string, at: string): string[] {
  const written = [...page.matchAll(/\s(?:href|src|action|data-api|data-path)="([^"]*)"/g)];
  return written
    .map(([, url = '']) => url.replaceAll('&amp;', '&'))
    .filter((url) => !url.startsWith('#') && !url.startsWith('data:'))
    .map((url) => new URL(url, at).href);
}

test.skipIf(absent('nginx'))(
  'below a path, everything that any page names is below it, and is there',
  async () => {
    const { id } = await upload('filename=a.png');
    const { id: locked } = await upload(`password=${encodeURIComponent(PASSWORD)}`);
    const pages = ['/', '/docs', '/proxies', '/img/gallery', `/img/i/${id}`, `/img/i/${locked}`, '/nowhere'];
    const found = new Set<string>();
    for (const path of pages) {
      const answer = await visit(path, { headers: ofPerson });
      const targets = targetsOf(await answer.text(), base + path);
      expect(targets.length).toBeGreaterThan(3);
      for (const target of targets) found.add(target);
    }
    const elsewhere = [...found].filter((url) => !url.startsWith(`${base}/`));
    expect(elsewhere.filter((url) => url.startsWith(front.url))).toEqual([]);
    const plain = [...found].filter(
      (url) => url.startsWith(base) && !/[{]|%7B|\/delete$|\/events$|\/gateway\/last$/.test(url),
    );
    // The two that pages put something behind, and the list, which has nothing to copy; others may answer no GET without more.
    for (const url of plain.filter((url) => !/\/(api|i)\/$|\/copy$/.test(url))) {
      const { status } = await fetch(url, { redirect: 'manual', headers: ofPerson });
      expect([url, [200, 400, 401, 405].includes(status)]).toEqual([url, true]);
    }
    // Scripts load each other.
    const script = plain.find((url) => url.endsWith('/upload.js')) ?? '';
    expect((await fetch(new URL('./dom.js', script))).status).toBe(200);
  },
);

test.skipIf(absent('nginx'))('below a path, links, oEmbed and the API description name it', async () => {
  const stored = await upload('filename=a.png');
  expect(stored.url).toBe(`${base}/img/i/${stored.id}`);
  expect(stored.raw_url).toBe(`${base}/img/i/${stored.id}.webp`);
  expect(stored.delete_url).toStartWith(`${base}/img/i/${stored.id}/delete?token=`);
  expect((await fetch(stored.raw_url ?? '')).headers.get('content-type')).toBe('image/webp');
  const embed = await visit(`/img/oembed?url=${encodeURIComponent(stored.url ?? '')}`);
  expect(await embed.json()).toMatchObject({ url: stored.raw_url, provider_url: `${base}/` });
  const refreshed = await visit('/api/refresh', { method: 'POST' });
  expect(new URL(refreshed.headers.get('location') ?? '', refreshed.url).href).toBe(`${base}/api/refresh`);
  const described = (await (await visit('/openapi.json')).json()) as { servers: unknown };
  expect(described.servers).toEqual([{ url: base }]);
  const sharex = (await (await visit('/img/sharex.sxcu')).json()) as { RequestURL: string };
  expect(sharex.RequestURL).toBe(`${base}/img/api/upload`);
  expect(await (await visit('/docs')).text()).toContain(`curl ${base}/img/api/list`);
});

test.skipIf(absent('nginx'))(
  'below a path, forms lead back to it, and their cookies hold there',
  async () => {
    const form = new FormData();
    form.set('image', new Blob([PNG]), 'a.png');
    form.set('password', PASSWORD);
    const sent = await visit('/img/api/upload', {
      method: 'POST',
      body: form,
      headers: { ...ofPerson, origin: front.url },
    });
    const place = /(\/pics\/img\/i\/\w{12})"/.exec(await sent.text())?.[1] ?? '';
    expect([sent.status, place]).toEqual([201, expect.any(String)]);

    const path = place.slice('/pics'.length);
    const body = new URLSearchParams({ password: PASSWORD });
    const opened = await visit(path, { method: 'POST', body, headers: ofPerson });
    expect([opened.status, opened.headers.get('location')]).toEqual([303, place]);
    const [cookie = '', ...others] = opened.headers.getSetCookie();
    expect([cookie, ...others].map((one) => /Path=([^;]+)/.exec(one)?.[1])).toEqual([
      place,
      `${place}.webp`,
      '/pics/img/a',
    ]);
    const page = await visit(path, { headers: { ...ofPerson, cookie: cookie.split(';')[0] ?? '' } });
    expect(page.status).toBe(200);
  },
);

test.skipIf(absent('nginx'))('below a path, the app is installed there', async () => {
  const manifest = (await (await visit('/manifest.webmanifest')).json()) as {
    start_url: string;
    scope: string;
    share_target: { action: string };
    icons: { src: string }[];
  };
  expect([manifest.start_url, manifest.scope, manifest.share_target.action]).toEqual([
    '/pics/',
    '/pics/',
    '/pics/img/share',
  ]);
  for (const { src } of manifest.icons) {
    const icon = await fetch(new URL(src, front.url));
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/png']);
  }
});

test('where only holders of tokens upload, nothing is shared with the app', async () => {
  await withServer({ UPLOAD: 'token', ADMIN_TOKEN: 'a-token-of-the-administrator' }, async ({ send }) => {
    expect(await (await send('/manifest.webmanifest')).json()).not.toHaveProperty('share_target');
  });
});
