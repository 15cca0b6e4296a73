import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { absent } from '../support/absent.ts';
import { freePort } from '../support/free-port.ts';
import { json } from '../support/json.ts';
import { readExample, startCaddy, startNginx } from '../support/servers/balancer.ts';
import { PNG } from '../support/servers/running-server.ts';
import { startServer } from '../support/servers/server-process.ts';
import { startSite } from './site.ts';

const HERE = '127.0.0.1';
/** Names as the browser's resolver knows them: two of a network at home, a stranger's, and a public one. */
const NAMES = {
  'nas.local': HERE,
  nas: HERE,
  'rebind.example': HERE,
  'evil.example': HERE,
  'img.example.com': HERE,
};

const server = startSite({ PROXY_JUDGES: 'http://127.0.0.1:9/' }, NAMES);
const evil = Bun.serve({
  hostname: HERE,
  port: 0,
  fetch: () =>
    new Response('<!doctype html><title>evil</title>', { headers: { 'content-type': 'text/html' } }),
});
afterAll(() => evil.stop(true));

async function on(url: string, work: (page: Page) => Promise<void>): Promise<void> {
  const visit = await server.browser.visit(url);
  try {
    await visit.page.goto(url);
    await work(visit.page);
  } finally {
    await visit.close();
  }
}

const images = async () => (await json<{ total: number }>(await fetch(`${server.url}/api/list`))).total;
const refresh = async () => (await json<{ job: object }>(await fetch(`${server.url}/api/refresh`))).job;

describe('a page of another origin', () => {
  const evilUrl = () => `http://evil.example:${evil.port}/`;

  test('changes nothing, by form, fetch or any other way', async () => {
    const { id } = await server.upload('', PNG);
    const before = await images();
    const job = await refresh();
    await on(evilUrl(), async (page) => {
      const sent: string[] = [];
      page.on('request', (asked) => void (asked.url().startsWith(server.url) && sent.push(asked.method())));
      await page.evaluate(
        async ({ target, picture, id }) => {
          const bytes = Uint8Array.from(picture);
          const send = (path: string, init: RequestInit) => fetch(target + path, init).catch(() => null);
          await send('/api/upload', { method: 'POST', body: bytes, mode: 'no-cors' });
          await send('/api/upload', { method: 'POST', body: bytes });
          await send('/api/refresh', { method: 'POST', mode: 'no-cors' });
          await send('/api/cleanup', { method: 'POST', mode: 'no-cors' });
          await send(`/api/delete/${id}`, { method: 'DELETE' });
          await send(`/i/${id}/delete`, {
            method: 'POST',
            mode: 'no-cors',
            body: new URLSearchParams({ x: '1' }),
          });
          navigator.sendBeacon(`${target}/api/upload`, new Blob([bytes]));
        },
        { target: server.url, picture: [...PNG], id },
      );
      expect(sent.length).toBeGreaterThan(5);
    });
    for (const type of ['multipart/form-data', 'text/plain', 'application/x-www-form-urlencoded']) {
      await on(evilUrl(), async (page) => {
        const answered = page.waitForResponse((answer) => answer.url().startsWith(server.url));
        await page.evaluate(
          ({ target, type, picture }) => {
            const form = document.createElement('form');
            Object.assign(form, { action: `${target}/api/upload`, method: 'post', enctype: type });
            const input = document.createElement('input');
            Object.assign(input, { type: 'file', name: 'image' });
            const files = new DataTransfer();
            files.items.add(new File([Uint8Array.from(picture)], 'a.png', { type: 'image/png' }));
            input.files = files.files;
            form.append(input);
            document.body.append(form);
            form.submit();
          },
          { target: server.url, type, picture: [...PNG] },
        );
        expect([type, (await answered).status()]).toEqual([type, 403]);
      });
    }
    expect(await images()).toBe(before);
    expect((await fetch(`${server.url}/api/info/${id}`)).status).toBe(200);
    expect(await refresh()).toEqual(job);
  });

  test('reads no byte of a protected picture, even where its visitor has opened it', async () => {
    const { id, raw_url } = await server.upload('password=tea', PNG);
    const visit = await server.browser.visit(server.url);
    try {
      await visit.page.goto(`${server.url}/i/${id}`);
      await visit.page.fill('input[name=password]', 'tea');
      await visit.page.click('main button[type=submit]');
      await visit.page.waitForSelector('figure img');
      await visit.page.goto(evilUrl());
      const seen = await visit.page.evaluate(async (url) => {
        const image = new Image();
        await new Promise((done) => {
          image.onload = image.onerror = done;
          image.src = url;
        });
        const script = document.createElement('script');
        const ran = await new Promise((done) => {
          script.onload = () => done(true);
          script.onerror = () => done(false);
          script.src = url;
          document.body.append(script);
        });
        const read = await fetch(url, { credentials: 'include' })
          .then((answer) => answer.text())
          .catch(() => null);
        return { width: image.naturalWidth, ran, read };
      }, raw_url);
      expect(seen).toEqual({ width: 0, ran: false, read: null });
    } finally {
      await visit.close();
    }
  });
});

/** What our own page does with a picture. */
function useOwnPage(page: Page): Promise<number[]> {
  return page.evaluate(
    async (picture) => {
      const stored = await fetch('/api/upload', { method: 'POST', body: Uint8Array.from(picture) });
      const { id, delete_token } = await stored.json();
      const removed = await fetch(`/api/delete/${id}?token=${delete_token}`, { method: 'DELETE' });
      return [stored.status, removed.status];
    },
    [...PNG],
  );
}

test('a name that is made to lead here changes nothing, though it passes for our own page', async () => {
  const { port } = new URL(server.url);
  await on(`http://rebind.example:${port}/`, async (page) => {
    expect(await useOwnPage(page)).toEqual([403, 403]);
  });
});

describe('our own pages work', () => {
  test.each(['127.0.0.1', 'nas.local'])('at %s', async (name) => {
    const { port } = new URL(server.url);
    await on(`http://${name}:${port}/`, async (page) => expect(await useOwnPage(page)).toEqual([201, 200]));
  });

  for (const [proxy, start, example, name] of [
    ['nginx', startNginx, 'nginx.conf', 'img.example.com'],
    ['caddy', startCaddy, 'Caddyfile', HERE],
  ] as const) {
    test.skipIf(absent(proxy))(`at PUBLIC_URL, ${name}, behind the ${proxy} of the examples`, async () => {
      const port = await freePort();
      const front = await start(await readExample(example, `127.0.0.1:${port}`));
      const url = `http://${name}:${new URL(front.url).port}`;
      const settings = {
        PORT: String(port),
        TRUSTED_PROXIES: '127.0.0.1',
        PUBLIC_URL: url,
        SERVICES: 'image',
      };
      const behind = await startServer('bun', settings);
      try {
        await on(url, async (page) => expect(await useOwnPage(page)).toEqual([201, 200]));
      } finally {
        await front.stop();
        await behind.stop();
      }
    });
  }
});
