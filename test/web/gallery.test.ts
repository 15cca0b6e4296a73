import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page, Route } from 'playwright-core';
import { photo } from '../support/images/images.ts';
import { seedGallery } from '../support/images/seeded-gallery.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { handTo } from './kept.ts';
import { SITE, startSite } from './site.ts';
import { checkLooks, shiftsOf, watchShifts } from './visitor.ts';

const PICTURES = 45;
const MANY = 10_000;
/** Width and height, in turn. */
const SHAPES = [
  [320, 200],
  [200, 320],
  [240, 240],
  [480, 120],
  [100, 300],
] as const;

const SERVICES = { SERVICES: 'image' };
const server = startSite(SERVICES);
const { visit, visitBy } = server;
/** Of so many pictures that nobody sees them all. */
let large: ServerProcess;
const visitLarge = visitBy(() => large.url);

const upload = async (name: string, [width, height]: readonly [number, number], format: string) =>
  server.upload(`filename=${name}&format=${format}`, await photo(width, height));

beforeAll(async () => {
  await seedGallery(folder, Date.now(), MANY);
  large = await startServer('bun', { ...SITE, ...SERVICES }, folder);
  for (let index = 0; index < PICTURES; index++) {
    await upload(`${index}.jpg`, SHAPES[index % SHAPES.length] ?? [200, 200], index === 0 ? 'png' : 'jpeg');
  }
}, 180_000);

afterAll(async () => {
  const exitCode = await large?.stop();
  expect(exitCode).toBe(0);
});
const folder = await sharedFolder();

const shots = (page: Page) => page.locator('.shot');
const focused = (page: Page) => page.evaluate(() => document.activeElement?.querySelector('b')?.textContent);

describe('the gallery', () => {
  test('shows pictures in rows of one height, each in its proportions', async () => {
    await visit('/gallery', async (page) => {
      const boxes = await shots(page).evaluateAll((all) =>
        all.map((shot) => {
          const { top, width, height } = shot.getBoundingClientRect();
          return { top: Math.round(top), width, height };
        }),
      );
      const rows = [...Map.groupBy(boxes, ({ top }) => top).values()];
      expect(rows.length).toBeGreaterThan(2);
      for (const row of rows) {
        const heights = row.map(({ height }) => height);
        expect(Math.max(...heights) - Math.min(...heights)).toBeLessThan(2);
      }
      // The newest one is the last of the shapes.
      expect((boxes[0]?.width ?? 0) / (boxes[0]?.height ?? 1)).toBeCloseTo(0.5, 1);
      expect((boxes[1]?.width ?? 0) / (boxes[1]?.height ?? 1)).toBeCloseTo(3, 0);
    });
  });

  test('is walked by the arrow keys, of which those up and down scroll as everywhere', async () => {
    await visit('/gallery', async (page) => {
      await shots(page).first().focus();
      await page.keyboard.press('ArrowRight');
      expect(await focused(page)).toBe('43.jpg');
      await page.keyboard.press('ArrowDown');
      expect(await focused(page)).toBe('43.jpg');
      await page.keyboard.press('ArrowLeft');
      expect(
        await shots(page)
          .first()
          .evaluate((shot) => shot === document.activeElement),
      ).toBe(true);
    });
  });

  test('is searched in place, also by format and before its script has come, and says where nothing fits', async () => {
    await visit('/gallery', async (page) => {
      const { promise: isTyped, resolve: letGo } = Promise.withResolvers<void>();
      await page.route('**/results.js', (route) => isTyped.then(() => route.continue()));
      await page.reload({ waitUntil: 'commit' });
      // Shorter words are part of too many IDs, which are random.
      await page.getByRole('searchbox').fill('jpeg');
      letGo();
      await page
        .locator('#results')
        .getByText(`${PICTURES - 1} pictures for “jpeg”`)
        .waitFor();
      expect(new URL(page.url()).search).toBe('?q=jpeg');
      await page.getByRole('searchbox').fill('no such thing');
      await page.locator('#results').getByText('No pictures match.').waitFor();
    });
  });

  test.each([
    ['before that had come', false],
    ['when that could not come', true],
  ])('comes back to what was searched, also if it was left %s', async (_, isAway) => {
    const work = async (page: Page) => {
      await page.route('**/gallery?q=*', (route) =>
        route.request().isNavigationRequest() ? route.continue() : isAway && route.abort(),
      );
      await page.getByRole('searchbox').fill('jpeg');
      await page.waitForURL('**/gallery?q=jpeg');
      if (isAway) await page.locator('#results .banner').waitFor();
      await shots(page).last().click();
      await page.waitForURL('**/i/*');
      await page.goBack();
      await page
        .locator('[data-summary]')
        .getByText(`${PICTURES - 1} pictures`)
        .waitFor();
    };
    await visit('/gallery', work, { expected: /net::ERR_FAILED/ });
  });

  test('has a search and a link to more pictures without scripts', async () => {
    await visit(
      '/gallery',
      async (page) => {
        await page.getByRole('searchbox').fill('jpeg');
        await page.getByRole('button', { name: 'Search' }).click();
        await page.waitForURL('**/gallery?q=jpeg');
        await page.getByRole('link', { name: 'More pictures' }).click();
        await page.waitForURL('**/gallery?q=jpeg&cursor=*');
        expect(await shots(page).count()).toBe(PICTURES - 1 - 40);
        await page.getByRole('link', { name: 'Back to the newest' }).click();
        await page.waitForURL('**/gallery?q=jpeg');
      },
      { javaScriptEnabled: false },
    );
  });

  test('has nothing serious against it at any width', async () => {
    await visit('/gallery?q=jpeg', checkLooks, {
      viewport: { width: 390, height: 900 },
      locale: 'zh-CN',
    });
  });

  test('does not move while its page arrives in parts', async () => {
    const front = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch({ url }) {
        const answer = await fetch(server.url + new URL(url).pathname, {
          headers: { 'accept-encoding': 'identity' },
        });
        if (!url.endsWith('/gallery')) return answer;
        const page = await answer.bytes();
        const parts = new ReadableStream({
          async start(controller) {
            for (let at = 0; at < page.length; at += 4000) {
              controller.enqueue(page.subarray(at, at + 4000));
              // As long as a browser takes to paint.
              await Bun.sleep(100);
            }
            controller.close();
          },
        });
        return new Response(parts, { headers: answer.headers });
      },
    });
    await visitBy(() => front.url.origin)('/gallery', async (page) => {
      await watchShifts(page);
      expect(await shiftsOf(page)).toBeLessThan(0.02);
    });
    await front.stop(true);
  });
});

/** Scrolls until there are `count` of them, no faster than they appear. */
async function scrollUntil(page: Page, count: number): Promise<void> {
  while ((await shots(page).count()) < count) {
    await page.evaluate(() => scrollBy({ top: 600, behavior: 'instant' }));
    await page.waitForFunction(() => document.body.scrollHeight - scrollY > 2.5 * innerHeight);
  }
}

describe('a gallery of 10,000 pictures', () => {
  const names = (page: Page) => page.locator('.shot b').allTextContents();

  test('goes on and on, without a gap, a repetition or a jump, and comes back to the place from far down', async () => {
    await visitLarge('/gallery', async (page) => {
      await page.getByText('10,000 public pictures').waitFor();
      await watchShifts(page);
      await scrollUntil(page, 280);
      const expected = Array.from({ length: 280 }, (_, index) => `${MANY - 1 - index}.jpg`);
      expect((await names(page)).slice(0, 280)).toEqual(expected);
      expect(await shiftsOf(page)).toBeLessThan(0.02);

      const tile = (name: string) => page.locator('.shot', { hasText: `${name} ` });
      const opened = tile(`${MANY - 261}.jpg`);
      await opened.scrollIntoViewIfNeeded();
      const top = async () => Math.round((await opened.boundingBox())?.y ?? -1);
      await opened.focus();
      await page.keyboard.press('ArrowRight');
      expect(await focused(page)).toBe(`${MANY - 262}.jpg`);
      await page.keyboard.press('ArrowLeft');
      const before = await top();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: `${MANY - 261}.jpg` }).waitFor();
      await page.goBack();
      await opened.waitFor();
      expect(Math.abs((await top()) - before)).toBeLessThan(50);
    });
  });

  test('leaves what a keyboard has reached below it in sight, and goes on when it comes back', async () => {
    await visitLarge('/gallery', async (page) => {
      const link = page.locator('footer a').first();
      await link.focus();
      await page.waitForLoadState('networkidle');
      const top = (await link.boundingBox())?.y ?? -1;
      expect(top).toBeGreaterThanOrEqual(0);
      expect(top).toBeLessThan(page.viewportSize()?.height ?? 0);

      const { length: seen } = await names(page);
      await page.keyboard.press('Shift+Tab');
      await page.waitForFunction((count) => document.querySelectorAll('.shot b').length > count, seen);
    });
  });

  test('goes on by itself when the network was cut midway and is back', async () => {
    await visitLarge(
      '/gallery',
      async (page) => {
        await scrollUntil(page, 80);
        await page.context().setOffline(true);
        await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
        const more = page.getByRole('link', { name: 'Could not load. Try again' });
        await more.waitFor();
        const shown = await shots(page).count();
        await more.click();
        await more.waitFor();
        expect(await page.locator('#announcer').textContent()).toBe('The server cannot be reached.');
        await page.context().setOffline(false);
        await page.waitForFunction((known) => document.querySelectorAll('.shot').length > known, shown);
        const all = await names(page);
        expect(new Set(all).size).toBe(all.length);
      },
      { expected: /net::ERR_/ },
    );
  });

  test('goes on in what was found while more of everything was on its way', async () => {
    const work = async (page: Page) => {
      const { promise: isFound, resolve: letGo } = Promise.withResolvers<void>();
      await page.route(/gallery\?cursor=/, (route) => isFound.then(() => route.continue()));
      await page.reload();
      await page.getByRole('link', { name: 'Loading…' }).waitFor();
      await page.getByRole('searchbox').fill('jpg');
      await page.locator('[data-summary]').filter({ hasText: 'for “jpg”' }).waitFor();
      letGo();
      await page.waitForFunction(() => document.querySelectorAll('.shot').length > 40);
    };
    // So high that more is asked for at once, as where all pictures are narrow.
    await visitLarge('/gallery', work, { viewport: { width: 1280, height: 4000 } });
  });

  test('is searched and left by keys alone, and paints with no more than a small one', async () => {
    await visitLarge(
      '/gallery',
      async (page) => {
        await checkLooks(page);
        await page.getByRole('searchbox').focus();
        await page.keyboard.type('9999');
        await page.locator('#results').getByText('1 picture for “9999”').waitFor();
        await page.keyboard.press('Tab');
        expect(await focused(page)).toBe('9999.jpg');
      },
      { viewport: { width: 390, height: 844 } },
    );
  });
});

/** Waits for the links of what was uploaded by a form, which are hidden at first; false if they never are. */
const untilHidden = (page: Page) =>
  page
    .waitForFunction(
      () => document.querySelector('[data-mine]')?.checkVisibility({ visibilityProperty: true }) === false,
      undefined,
      { timeout: 10_000 },
    )
    .then(
      () => true,
      () => false,
    );

test('a picture that is pasted into the gallery is uploaded for those with the link, which is shown', async () => {
  await visit('/gallery', async (page) => {
    const link = page.getByRole('link', { name: 'pasted.jpg' });
    // Nobody can click on before the script has kept the token of deletion.
    let wasHidden = false;
    const look = async (route: Route) => {
      wasHidden = await untilHidden(page);
      await route.continue();
    };
    await page.route('**/image.js', look, { times: 1 });
    const pasted = { name: 'pasted.jpg', type: 'image/jpeg', bytes: await photo(300, 200) };
    await handTo(page.locator('body'), 'paste', pasted);
    await link.click();
    expect(wasHidden).toBe(true);
    await page.getByText('Anyone with the link').first().waitFor();
    await page.goto(`${server.url}/`);
    await page.locator('#mine').getByRole('link', { name: 'pasted.jpg' }).first().waitFor();
  });
}, 60_000);

test('the links of what was sent by a form are shown although a script of the page never comes', async () => {
  await visit('/gallery', async (page) => {
    const scripts = Promise.withResolvers<void>();
    await page.route('**/image.js', async (route) => {
      await scripts.promise;
      await route.continue();
    });
    const pasted = { name: 'stalled.jpg', type: 'image/jpeg', bytes: await photo(300, 200) };
    await handTo(page.locator('body'), 'paste', pasted);
    expect(await untilHidden(page)).toBe(true);
    await page.getByRole('link', { name: 'stalled.jpg' }).waitFor();
    scripts.resolve();
    await page.locator('[data-mine]').waitFor({ state: 'detached' });
  });
}, 60_000);

test('a tiny picture is shown in its own size', async () => {
  await upload('tiny.png', [14, 25], 'png');
  await visit('/gallery', async (page) => {
    const fit = page.locator('.shot.tiny img:not(.blur)').first();
    expect(await fit.evaluate((img) => getComputedStyle(img).objectFit)).toBe('scale-down');
    expect(await fit.getAttribute('srcset')).toBe(null);
  });
});
