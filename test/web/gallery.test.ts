import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { photo } from '../support/images.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { checkLooks, createVisitor } from './visitor.ts';

const PICTURES = 45;
/** Width and height, in turn. */
const SHAPES = [
  [320, 200],
  [200, 320],
  [240, 240],
  [480, 120],
  [100, 300],
] as const;

let server: ServerProcess;
let browser: TestBrowser;
const visit = createVisitor(
  () => browser,
  () => server.url,
);

async function upload(name: string, [width, height]: readonly [number, number], format: string) {
  const answer = await fetch(`${server.url}/api/upload?filename=${name}&format=${format}`, {
    method: 'POST',
    body: new Uint8Array(await photo(width, height)),
  });
  expect(answer.status).toBe(201);
}

beforeAll(async () => {
  [server, browser] = await Promise.all([
    startServer('bun', { RATE_LIMITS: 'off', SERVICES: 'image' }),
    startBrowser(),
  ]);
  for (let index = 0; index < PICTURES; index++) {
    await upload(`${index}.jpg`, SHAPES[index % SHAPES.length] ?? [200, 200], index === 0 ? 'png' : 'jpeg');
  }
}, 60_000);

afterAll(async () => {
  await browser?.close();
  expect(await server?.stop()).toBe(0);
});

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

  test('goes on while one scrolls, and comes back to the place', async () => {
    await visit('/gallery', async (page) => {
      expect(await shots(page).count()).toBe(40);
      await page.getByRole('link', { name: 'More pictures' }).scrollIntoViewIfNeeded();
      await page.getByText('0.jpg', { exact: true }).waitFor({ state: 'attached' });
      expect(await shots(page).count()).toBe(PICTURES);
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      const place = await page.evaluate(() => scrollY);
      await shots(page).last().click();
      await page.getByRole('heading', { name: '0.jpg' }).waitFor();
      await page.goBack();
      await page.waitForFunction((all) => document.querySelectorAll('.shot').length === all, PICTURES);
      expect(Math.abs((await page.evaluate(() => scrollY)) - place)).toBeLessThan(50);
    });
  });

  test('is walked by the arrow keys', async () => {
    await visit('/gallery', async (page) => {
      await shots(page).first().focus();
      await page.keyboard.press('ArrowRight');
      expect(await focused(page)).toBe('43.jpg');
      await page.keyboard.press('ArrowDown');
      const below = await focused(page);
      expect(below).not.toBe('43.jpg');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowLeft');
      expect(
        await shots(page)
          .first()
          .evaluate((shot) => shot === document.activeElement),
      ).toBe(true);
    });
  });

  test('is filtered by format and by day, and says where nothing fits', async () => {
    await visit('/gallery', async (page) => {
      await page.getByText('Filters').click();
      await page.getByLabel('Format', { exact: true }).selectOption('png');
      await page.locator('#results').getByText('1 picture found').waitFor();
      expect(new URL(page.url()).search).toBe('?format=png');
      await page.getByLabel('Uploaded up to').fill('2020-01-31');
      await page.locator('#results').getByText('No pictures match.').waitFor();
    });
  });

  test('has a link to more pictures without scripts', async () => {
    await visit(
      '/gallery?format=jpeg',
      async (page) => {
        await page.getByRole('link', { name: 'More pictures' }).click();
        expect(await shots(page).count()).toBe(PICTURES - 1 - 40);
        await page.getByRole('link', { name: 'Back to the newest' }).click();
        expect(new URL(page.url()).search).toBe('?format=jpeg');
      },
      { javaScriptEnabled: false },
    );
  });

  test.each([390, 768, 1440])('has nothing serious against it at a width of %d', async (width) => {
    await visit('/gallery?format=jpeg', checkLooks, { viewport: { width, height: 900 }, locale: 'zh-CN' });
  });
});
