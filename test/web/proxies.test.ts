import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { startBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { startJudge } from '../support/farm/judge-server.ts';
import { type ProxyWorld, startProxyWorld } from '../support/farm/proxy-world.ts';
import { seedPool } from '../support/pool/seeded.ts';
import { run } from '../support/run.ts';
import { startRelay } from '../support/servers/relay.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';
import { CLIPBOARD, clipboard } from './kept.ts';
import { checkWork, type PageWork } from './page-work.ts';
import { checkLooks, createVisitor, shiftsOf, type Visitor, watchShifts } from './visitor.ts';

const PHONE = { viewport: { width: 390, height: 844 } };
/** A refresh of this world waits for proxies that never answer. */
const REFRESH_MS = 30_000;
const SEEDED = 20_000;
/** For a page of 1,800 elements and one step: with every row it would be up to 1,500, 2,100 and 2,700. */
const MOST_WORK: PageWork = { restyled: 400, laidOut: 400, present: 2000 };

let world: ProxyWorld;
let server: ServerProcess;
/** A pool of 20,000 proxies that nobody checks. */
let large: ServerProcess;
let judge: Awaited<ReturnType<typeof startJudge>>;
let browser: TestBrowser;
const visitBy = (origin: () => string) => createVisitor(() => browser, origin);
const visit = visitBy(() => server.url);
const visitLarge = visitBy(() => large.url);
const rows = (page: Page) => page.locator('.proxies tbody tr');
const matches = (page: Page, words: string) =>
  page.locator('#results [data-summary]').filter({ hasText: words }).waitFor();
const addresses = (page: Page) => page.locator('.proxies .address').allTextContents();
const toggle = (page: Page, protocol: string) => page.locator(`.chip:has([value="${protocol}"])`).click();

/** Runs the work with a server whose pool is empty. */
async function withEmptyPool(env: Record<string, string>, work: (visit: Visitor) => Promise<void>) {
  const own = await startServer('bun', { ...world.env, SERVICES: 'proxy', ...env });
  try {
    await work(visitBy(() => own.url));
  } finally {
    await own.stop();
  }
}

beforeAll(async () => {
  await seedPool(folder, Date.now(), SEEDED);
  [world, browser, judge] = await Promise.all([startProxyWorld(), startBrowser(), startJudge()]);
  server = await startServer('bun', { ...world.env, SERVICES: 'proxy', PROXY_BASE_PATH: '/pool' });
  const settings = { RATE_LIMITS: 'off', PROXY_ALLOW_PRIVATE: 'true', PROXY_JUDGES: judge.url, ADMIN_TOKEN };
  large = await startServer('bun', { ...settings, PROXY_SOURCES: 'http://127.0.0.1:9/' }, folder);
  const events = await fetch(`${server.url}/pool/api/refresh/events`);
  await fetch(`${server.url}/pool/api/refresh`, { method: 'POST' });
  const decoder = new TextDecoder();
  for await (const chunk of events.body ?? []) {
    if (decoder.decode(chunk).includes('"state":"done","stage":"cleanup"')) break;
  }
}, 180_000);

afterAll(async () => {
  await browser?.close();
  const exitCodes = [await server?.stop(), await large?.stop()];
  await judge?.stop();
  await world?.stop();
  expect(exitCodes).toEqual([0, 0]);
});
const folder = await sharedFolder();

test('an empty pool says so, and a refresh fills the page while one looks', async () => {
  await withEmptyPool({}, (visitOwn) =>
    visitOwn('/proxies', async (page) => {
      await page.getByText('No proxies yet.', { exact: true }).waitFor();
      await page.getByText(/The first refresh starts at \d\d:\d\d UTC/).waitFor();
      await page.getByRole('button', { name: 'Refresh now' }).click();
      await page.getByText('Filling the pool').waitFor();
      await page.getByText('Testing proxies').waitFor();
      await page.getByText('Up to date Refreshed just now.').waitFor({ timeout: REFRESH_MS });
      await rows(page).first().waitFor();
      expect(await rows(page).count()).toBe(world.working.length);
      expect(await page.locator('[data-stat="alive"]').textContent()).toBe(String(world.working.length));
      expect(await page.locator('.sources tbody tr').count()).toBe(world.lists.length + 1);
      const failed = page.locator('.sources tr').filter({ hasText: world.failingList });
      expect(await failed.locator('.pill').textContent()).toBe('failed');
    }),
  );
});

test('the pool is the first page if the server offers nothing else', async () => {
  await visit('/', async (page) => {
    await matches(page, `${world.working.length} proxies`);
    expect(new URL(page.url()).pathname).toBe('/pool/proxies');
  });
});

describe('the list', () => {
  test('follows its filters in place, and the address of the page follows, too', async () => {
    await visit('/pool/proxies', async (page) => {
      await toggle(page, 'socks5');
      await matches(page, '3 proxies');
      expect(new URL(page.url()).search).toBe('?protocol=socks5');
      await page.getByText('More filters').click();
      await page.getByLabel('Source', { exact: true }).selectOption('html');
      await matches(page, '1 proxy');
      await toggle(page, 'socks4');
      await page.waitForURL(/protocol=socks4&protocol=socks5/);
      await page.getByRole('link', { name: 'Remove filter: source: html' }).click();
      await matches(page, '5 proxies');
      expect(await page.getByLabel('Source', { exact: true }).inputValue()).toBe('');
      await page.goBack();
      await matches(page, '1 proxy');
      await page.getByRole('link', { name: 'Clear all' }).click();
      await page.getByLabel('Status').selectOption('dead');
      await matches(page, `${world.broken.length} proxies`);
      expect(await rows(page).first().locator('.pill.bad').textContent()).toMatch(/^[a-z ]+$/);
    });
  });

  test('says beside the list what does not fit, and marks the field', async () => {
    await visit('/pool/proxies', async (page) => {
      await page.getByText('More filters').click();
      const uptime = page.getByLabel('Uptime at least');
      await uptime.fill('950');
      await page.getByText('Uptime at least must be a number from 0 to 100.').waitFor();
      expect(await uptime.getAttribute('aria-invalid')).toBe('true');
      await uptime.fill('0');
      await page.getByText('must be a number').waitFor({ state: 'detached' });
      expect(await uptime.getAttribute('aria-invalid')).toBe(null);
      // The last two have no field, and no choice in theirs, until the link is followed.
      for (const [wrong, right] of [
        ['protcol=http', 'protocol=http'],
        ['ports=8080', 'port=8080'],
        ['country=Vaticn City', 'country=VA'],
      ] as const) {
        await page.goto(`${server.url}/pool/proxies?${wrong}`);
        await page.getByRole('link', { name: 'Did you mean' }).click();
        await page.waitForURL(`**/proxies?${right}`);
        await page.locator('#results:not([aria-busy])').waitFor();
        await toggle(page, 'socks5');
        await page.waitForURL(({ search }) => search.includes(right) && search.includes('protocol=socks5'));
      }
    });
  });

  test('is sorted both ways by its headings, in place and by keyboard', async () => {
    await visit('/pool/proxies', async (page) => {
      const times = async () => {
        const texts = await page.locator('.proxies td.latency').allTextContents();
        return texts.map((text) => Number.parseInt(text.replace(',', ''), 10));
      };
      const heading = page.getByRole('link', { name: 'Latency' });
      await heading.click();
      await page.locator('[aria-sort="ascending"]').waitFor();
      expect(await times()).toEqual((await times()).toSorted((a, b) => a - b));
      await heading.focus();
      await page.keyboard.press('Enter');
      await page.locator('[aria-sort="descending"]').waitFor();
      expect(await times()).toEqual((await times()).toSorted((a, b) => b - a));
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Latency');
      expect(await page.getByLabel('Sort by').inputValue()).toBe('-response_time');
      await page.getByLabel('Sort by').selectOption('response_time');
      await page.locator('[aria-sort="ascending"]').waitFor();
    });
  });

  test('gives one proxy, some, or all of them to copy in every format', async () => {
    await visit(
      '/pool/proxies',
      async (page) => {
        // As in Safari: a text that comes after the click may be written as a promise alone.
        await page.evaluate(() => {
          navigator.clipboard.writeText = () => Promise.reject(new DOMException('late', 'NotAllowedError'));
        });
        await rows(page).first().getByText('Copy').click();
        await rows(page).first().getByText('Copied').waitFor();
        expect(world.working).toContain(await clipboard(page));
        await page.getByRole('button', { name: 'Copy all' }).click();
        await page.locator('[data-copy-matches]').getByText('Copied').waitFor();
        expect((await clipboard(page)).trim().split('\n').sort()).toEqual([...world.working].sort());
        await page.getByLabel('Format').selectOption('text');
        const boxes = page.locator('.proxies tbody [type=checkbox]');
        await boxes.first().focus();
        await page.keyboard.press('Space');
        await boxes.nth(2).click({ modifiers: ['Shift'] });
        await page.getByRole('button', { name: 'Copy 3 selected' }).click();
        // The button may still say what it said last.
        // One address with two protocols is one line.
        const selected = [...new Set((await addresses(page)).slice(0, 3))].join('\n');
        await until(async () => (await clipboard(page)).trim() === selected);
        await page.keyboard.press('Escape');
        await page.getByLabel('Select all on this page').check();
        await page.getByRole('button', { name: `Copy ${world.working.length} selected` }).waitFor();
        await page.reload();
        expect(await page.getByLabel('Format').inputValue()).toBe('text');
        const download = page.waitForEvent('download');
        await page.getByRole('link', { name: 'Download' }).click();
        const lines = await readFile(await (await download).path(), 'utf8');
        expect(lines.trim().split('\n').sort()).toEqual([...world.working].sort());
        const login = { contentType: 'text/html', body: '<title>Log in</title>' };
        await page.route('**/proxies/copy*', (route) => route.fulfill(login));
        const before = await clipboard(page);
        await page.getByRole('button', { name: 'Copy all' }).click();
        await page.getByText('The server cannot be reached.').and(page.locator('#copy-note')).waitFor();
        expect(await clipboard(page)).toBe(before);
        const looks = await page.locator('#copy-note').evaluate((note) => getComputedStyle(note).display);
        expect(looks).toBe('flex');
      },
      CLIPBOARD,
    );
  });

  test('tests a proxy in place: its row changes, and stays where it is', async () => {
    const work = async (page: Page) => {
      const before = await addresses(page);
      const row = rows(page).first();
      await page.route('**/proxies/test', (route) => route.abort(), { times: 1 });
      await row.getByRole('button', { name: 'Test' }).click();
      await page.locator('#copy-note').waitFor();
      const bar = row.locator('.uptime-bar');
      const tests = await bar.getAttribute('aria-label');
      await row.getByRole('button', { name: 'Test' }).press('Enter');
      await page.waitForFunction(
        (old) => document.querySelector('.proxies .uptime-bar')?.getAttribute('aria-label') !== old,
        tests,
      );
      expect(await addresses(page)).toEqual(before);
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Test');
      expect(await page.locator('#announcer').textContent()).toMatch(/^127\.[\d.]+:\d+: [\d,]+ ms$/);
      expect(await page.locator('#copy-note').isVisible()).toBe(false);
    };
    await visit('/pool/proxies?protocol=socks5', work, { expected: /net::ERR_FAILED/ });
  });

  test('is a list with working filters, pages, copies and tests without scripts', async () => {
    await visit(
      '/pool/proxies',
      async (page) => {
        await toggle(page, 'socks4');
        await page.getByRole('button', { name: 'Apply' }).click();
        await matches(page, '2 proxies');
        await rows(page).first().getByRole('button', { name: 'Test' }).click();
        await page.waitForURL(/\?id=\d+#p-\d+$/);
        await matches(page, '1 proxy');
        await page.getByLabel('Format').selectOption('csv');
        await rows(page).getByRole('checkbox').check();
        await page.getByRole('button', { name: 'Copy all' }).click();
        await page.getByText('socks4,').waitFor();
      },
      { javaScriptEnabled: false },
    );
    await visitLarge(
      '/proxies',
      async (page) => {
        await page.getByRole('link', { name: 'Next' }).click();
        await page.waitForURL('**#list');
        await page.getByText('Page 2 of 100').waitFor();
      },
      { javaScriptEnabled: false },
    );
  });
});

test.each(['protocol=socks5', 'protocol=http', ''])(
  'the command of the page works as it is for "%s"',
  async (query) => {
    const page = await (await fetch(`${server.url}/pool/proxies?${query}`)).text();
    const [, code = ''] = /<code id="code-curl">(.*?)<\/code>/s.exec(page) ?? [];
    const signs: Record<string, string> = { quot: '"', '#39': "'", gt: '>', lt: '<', amp: '&' };
    const plain = code.replaceAll(/&(quot|#39|gt|lt|amp);/g, (_, name) => signs[name] ?? '');
    const command = plain.replaceAll(/https?:\/\/example\.com\//g, world.page);
    expect(await run(['sh', '-c', command], { cwd: folder })).toBe('a page');
  },
);

describe('a pool of 20,000 proxies', () => {
  test('has its first rows on the first screen of a telephone', async () => {
    await visitLarge(
      '/proxies',
      async (page) => {
        const box = await rows(page).nth(2).boundingBox();
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(844);
        for (const part of ['.address', '.country', '.latency', '.uptime-bar', '.tested', '.kind'])
          expect(await rows(page).first().locator(part).isVisible()).toBe(true);
        await page.setViewportSize({ width: 360, height: 780 });
        const lines = await page
          .locator('.proxies .address')
          .evaluateAll((all) => Math.max(...all.map(({ clientHeight }) => clientHeight)));
        expect(lines).toBeLessThan(25);
      },
      PHONE,
    );
  });

  test('turns pages in place, without a jump to the top, although something is selected', async () => {
    await visitLarge('/proxies', async (page) => {
      await page.locator('.proxies .address').first().dblclick();
      const next = page.getByRole('link', { name: 'Next' });
      await next.scrollIntoViewIfNeeded();
      await next.click();
      await page.getByText('Page 2 of 100').waitFor();
      await page.waitForFunction(() => {
        const { top } = document.getElementById('results')?.getBoundingClientRect() ?? { top: -1 };
        return top >= 0 && top < 200;
      });
      expect(await page.evaluate(() => scrollY)).toBeGreaterThan(50);
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Next');
    });
  });

  test('says when the connection is lost, and is up to date when it is back, without a jump', async () => {
    const relay = await startRelay(Number(new URL(large.url).port));
    await visitBy(() => `http://127.0.0.1:${relay.port}`)(
      '/proxies',
      async (page) => {
        const lost = page.getByText('Connection lost. This page is not up to date.');
        const alive = page.locator('[data-stat="alive"]').first();
        await page.waitForFunction(() => performance.getEntriesByType('resource').length > 0);
        await watchShifts(page);
        expect(await lost.isVisible()).toBe(false);
        relay.cut();
        await lost.waitFor();
        await alive.evaluate((element) => {
          element.textContent = 'long ago';
        });
        // A server that is just starting, or a proxy in front of none: browsers give up after such an answer.
        let refused = 0;
        await page.route('**/refresh/events*', (route) => {
          refused++;
          return route.fulfill({ status: 503, body: '' });
        });
        relay.open();
        await page.waitForRequest(/refresh\/events/);
        expect(await lost.isVisible()).toBe(true);
        await page.unroute('**/refresh/events*');
        await lost.waitFor({ state: 'hidden' });
        expect(refused).toBeGreaterThan(0);
        await page.waitForFunction(
          () => document.querySelector('[data-stat="alive"]')?.textContent === '5,000',
        );
        expect(await shiftsOf(page)).toBeLessThan(0.02);
      },
      { expected: /net::ERR_|status of 503|EventSource/ },
    );
    await relay.stop();
  });

  test('is up to date when one looks at it again, for the filters that were chosen meanwhile', async () => {
    await visitLarge('/proxies?range=30d', async (page) => {
      const { promise: isChosen, resolve: letGo } = Promise.withResolvers<void>();
      const hide = (isHidden: boolean) =>
        page.evaluate((hidden) => {
          Object.defineProperty(document, 'hidden', { configurable: true, value: hidden });
          document.dispatchEvent(new Event('visibilitychange'));
        }, isHidden);
      await hide(true);
      await page.locator('#numbers').evaluate((element) => element.append('long ago'));
      await page.route(/range=30d$/, (route) => isChosen.then(() => route.continue()));
      const asked = page.waitForRequest(/range=30d$/);
      await hide(false);
      await asked;
      const current = page.getByRole('link', { name: '24 hours' }).and(page.locator('[aria-current]'));
      await page.getByRole('link', { name: '24 hours' }).click();
      await current.waitFor();
      letGo();
      await page.getByText('long ago').waitFor({ state: 'detached' });
      expect(await current.count()).toBe(1);
    });
  });

  test('shows a month, whose values can be read', async () => {
    await visitLarge('/proxies', async (page) => {
      await page.getByRole('link', { name: '30 days' }).click();
      await page.getByRole('link', { name: '30 days' }).and(page.locator('[aria-current]')).waitFor();
      expect(new URL(page.url()).search).toBe('?range=30d');
      const last = await page.locator('.chart title').last().textContent();
      expect(last).toMatch(/^\w+ \d+, \d{4}, \d\d:\d\d: 5,000$/);
      await page.locator('.chart-values summary').click();
      await page
        .locator('.chart-values td')
        .first()
        .getByText(last?.split(': ')[0] ?? '-')
        .waitFor();
      await page.getByRole('link', { name: 'Next' }).click();
      await page.waitForURL('**/proxies?range=30d&page=2');
    });
  });

  test('keeps the filters when it shows another time, and the time with other filters before it has arrived', async () => {
    await visitLarge('/proxies', async (page) => {
      const { promise: isAsked, resolve: letGo } = Promise.withResolvers<void>();
      await page.route(/range=30d$/, (route) => isAsked.then(() => route.continue().catch(() => {})));
      await page.getByRole('link', { name: '30 days' }).click();
      await page.waitForURL(/range=30d$/);
      await toggle(page, 'socks5');
      await page.waitForURL(/protocol=socks5/);
      letGo();
      await page.getByRole('link', { name: '30 days' }).and(page.locator('[aria-current]')).waitFor();
      expect(new URL(page.url()).search).toBe('?protocol=socks5&range=30d');
      await page.locator('#results [data-summary]').filter({ hasNotText: '5,000' }).waitFor();
      await toggle(page, 'socks5');
      await page.waitForURL(/\?range=30d$/);
      await page.getByRole('link', { name: '24 hours' }).click();
      await page.waitForURL('**/proxies');
    });
  });

  test('asks for the token of the administrator before a refresh, if there is a token', async () => {
    const work = async (page: Page) => {
      const sent: (string | null)[] = [];
      await page.route('**/api/refresh', async (route) => {
        sent.push(await route.request().headerValue('authorization'));
        const refusal = {
          success: false,
          code: 'unauthorized',
          error: 'This needs the header Authorization.',
        };
        if (sent.length === 1) return route.fulfill({ status: 401, json: refusal });
        await route.fulfill({ json: { success: true, job: { state: 'done' } } });
      });
      const button = page.locator('[data-refresh]');
      const field = page.getByRole('textbox', { name: 'Administrator token' });
      await button.click();
      await field.fill('not yet');
      await page.keyboard.press('Escape');
      expect(sent).toEqual([]);
      for (const [token, answer] of [
        ['wrong', 'This requires a valid token.'],
        [ADMIN_TOKEN, 'moment ago'],
      ] as const) {
        await button.click();
        await field.fill(token);
        await page.getByRole('button', { name: 'Unlock' }).click();
        await button.getByText(answer).waitFor();
      }
      expect(sent).toEqual(['Bearer wrong', `Bearer ${ADMIN_TOKEN}`]);
    };
    await visitLarge('/proxies', work, { expected: /status of 401/ });
  });

  test('a click or a key has little laid out again on a telephone, and nothing far from the screen', async () => {
    await visitLarge(
      '/proxies',
      async (page) => {
        const steps = {
          selecting: () => page.locator('.proxies [name=id]').first().check(),
          opening: () => page.getByText('More filters').click(),
          typing: async () => {
            await page.getByLabel('Latency at most').fill('900');
            await page.getByText('≤ 900 ms').waitFor();
          },
          filtering: async () => {
            await toggle(page, 'https');
            await page.locator('.proxies:not(:has([title]:text-is("http")))').waitFor();
          },
        };
        await checkWork(page, steps, MOST_WORK);
      },
      PHONE,
    );
  });
});

test('the page has nothing serious against it, fits a telephone, waits for one file to paint, and does not move', () =>
  visit('/pool/proxies', checkLooks, { viewport: { width: 360, height: 740 } }));

test('the page of a large pool has nothing serious against it either, filters open and faulty, in Chinese', async () => {
  await visitLarge('/proxies?range=30d&country=DE&uptime=x&status=dead', checkLooks, {
    viewport: { width: 360, height: 740 },
    locale: 'zh-CN',
  });
});
