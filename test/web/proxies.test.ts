import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ProxyWorld, startProxyWorld } from '../support/proxy-world.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { checkLooks, createVisitor, type Visitor } from './visitor.ts';

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };
/** Runs the work with a server whose pool is empty. */
async function withEmptyPool(env: Record<string, string>, work: (visit: Visitor) => Promise<void>) {
  const own = await startServer('bun', { ...world.env, SERVICES: 'proxy', ...env });
  const visitOwn = createVisitor(
    () => browser,
    () => own.url,
  );
  try {
    await work(visitOwn);
  } finally {
    await own.stop();
  }
}

/** A refresh of this world waits for proxies that never answer. */
const REFRESH_MS = 30_000;

let world: ProxyWorld;
let server: ServerProcess;
let browser: TestBrowser;
const visit = createVisitor(
  () => browser,
  () => server.url,
);
const rows = (page: Page) => page.locator('.proxies tbody tr');
const matches = (page: Page, words: string) =>
  page.locator('#results [data-summary]').filter({ hasText: words }).waitFor();

beforeAll(async () => {
  [world, browser] = await Promise.all([startProxyWorld(), startBrowser()]);
  server = await startServer('bun', { ...world.env, SERVICES: 'proxy', PROXY_BASE_PATH: '/pool' });
  const events = await fetch(`${server.url}/pool/api/refresh/events`);
  await fetch(`${server.url}/pool/api/refresh`, { method: 'POST' });
  const decoder = new TextDecoder();
  for await (const chunk of events.body ?? []) {
    if (decoder.decode(chunk).includes('"state":"done","stage":"cleanup"')) break;
  }
}, 60_000);

afterAll(async () => {
  await browser?.close();
  const exitCode = await server?.stop();
  await world?.stop();
  expect(exitCode).toBe(0);
});

test('an empty pool says so, and a refresh fills the page while one looks', async () => {
  await withEmptyPool({}, (visitOwn) =>
    visitOwn('/proxies', async (page) => {
      await page.getByText('No proxy is known yet').waitFor();
      await page.getByText('No refresh has run yet').waitFor();
      await page.getByRole('button', { name: 'Refresh now' }).click();
      await page.getByText('Refreshing now').waitFor();
      await page.locator('.stages .now').filter({ hasText: 'Verify' }).waitFor();
      await page.getByText('Refreshed just now').waitFor({ timeout: REFRESH_MS });
      expect(await rows(page).count()).toBe(world.working.length);
      expect(await page.locator('.number dd').first().textContent()).toBe(String(world.working.length));
      expect(await page.locator('.sources tbody tr').count()).toBe(world.lists.length + 1);
      const failed = page.locator('.sources tr').filter({ hasText: world.failingList });
      expect(await failed.locator('.tag').textContent()).toBe('failed');
    }),
  );
});

test('a judge that is away is told in plain words', async () => {
  await withEmptyPool({ PROXY_JUDGES: 'http://127.0.0.1:9/' }, (visitOwn) =>
    visitOwn('/proxies', async (page) => {
      await page.getByRole('button', { name: 'Refresh now' }).click();
      await page.getByText('The judge does not answer at the moment').waitFor({ timeout: REFRESH_MS });
    }),
  );
});

test('the first page leads to the pool', async () => {
  await visit('/', async (page) => {
    expect(await page.locator('.number dd').first().textContent()).toBe(String(world.working.length));
    await page.getByRole('link', { name: 'Browse proxies' }).click();
    await matches(page, `${world.working.length} proxies match`);
  });
});

describe('the table', () => {
  test('follows its filters, and the address of the page follows, too', async () => {
    await visit('/pool/proxies', async (page) => {
      await page.getByLabel('Protocol', { exact: true }).selectOption('socks5');
      await matches(page, '3 proxies match');
      expect(new URL(page.url()).searchParams.get('protocol')).toBe('socks5');
      await page.getByText('More filters').click();
      await page.getByLabel('Found in list').selectOption('html');
      await matches(page, '1 proxy matches');
      await page.getByLabel('Protocol', { exact: true }).selectOption('http');
      await page.getByText('No proxy fits all filters').waitFor();
      await page.getByRole('link', { name: 'Show all' }).click();
      await page.getByLabel('Status').selectOption('dead');
      await matches(page, `${world.broken.length} proxies match`);
      expect(await rows(page).first().locator('.tag.bad').textContent()).toMatch(/^[a-z ]+$/);
    });
  });

  test('is sorted by its headings', async () => {
    await visit('/pool/proxies', async (page) => {
      await page.getByRole('link', { name: 'Response' }).click();
      const times = await page.locator('.proxies td:nth-child(5)').allTextContents();
      const numbers = times.map((text) => Number.parseInt(text, 10));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      expect(await page.locator('[aria-sort]').textContent()).toBe('Response');
    });
  });

  test('gives one proxy or all of them to copy, and a file', async () => {
    await visit(
      '/pool/proxies',
      async (page) => {
        const copied = () => page.evaluate(() => navigator.clipboard.readText());
        await rows(page).first().getByText('Copy').click();
        await rows(page).first().getByText('Copied').waitFor();
        expect(world.working).toContain(await copied());
        await page.getByRole('button', { name: 'Copy all' }).click();
        await page.locator('[data-copy-lines]').getByText('Copied').waitFor();
        expect((await copied()).trim().split('\n').sort()).toEqual([...world.working].sort());
        const download = page.waitForEvent('download');
        await page.getByRole('link', { name: 'Download' }).click();
        const lines = await readFile(await (await download).path(), 'utf8');
        expect(lines.trim().split('\n').sort()).toEqual([...world.working].sort());
      },
      CLIPBOARD,
    );
  });

  test('tests a proxy at once and shows what came of it in its row', async () => {
    await visit('/pool/proxies?protocol=socks5', async (page) => {
      await rows(page).first().getByText('Test now').press('Enter');
      await rows(page)
        .first()
        .getByText(/^Alive, \d+ ms$/)
        .waitFor();
      await page.goto(`${server.url}/pool/proxies?status=dead&source=lines`);
      await rows(page).first().getByText('Test now').click();
      await rows(page)
        .first()
        .getByText(/^Dead: [a-z ]+$/)
        .waitFor();
    });
  });

  test('is a list with working filters without scripts', async () => {
    await visit(
      '/pool/proxies',
      async (page) => {
        await page.getByLabel('Protocol', { exact: true }).selectOption('socks4');
        await page.getByRole('button', { name: 'Show' }).click();
        await matches(page, '2 proxies match');
        expect(await page.getByText('Test now').first().isVisible()).toBe(false);
      },
      { javaScriptEnabled: false },
    );
  });
});

test.each(['/', '/pool/proxies', '/pool/proxies?status=dead'])(
  'the page %s has nothing serious against it, fits a telephone, paints soon, and does not move',
  (path) => visit(path, checkLooks, { viewport: { width: 360, height: 740 } }),
);
