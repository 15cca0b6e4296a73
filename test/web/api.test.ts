import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { startSite } from './site.ts';
import { checkLooks } from './visitor.ts';

/** All scripts of the page, as they are written. */
const MOST_SCRIPT_BYTES = 30_000;
/** WCAG 2.2, 2.5.8. */
const LEAST_TARGET_PX = 24;

const server = startSite();
const { visit } = server;

const call = (page: Page, id: string) => page.locator(`details.call:has(> #${id})`);

test('a call that is open has nothing serious against it', async () => {
  const viewport = { width: 390, height: 844 };
  await visit(
    '/docs#listProxies',
    async (page) => {
      await call(page, 'listProxies').getByText('Responses', { exact: true }).click();
      await checkLooks(page, { painted: false });
    },
    { viewport },
  );
});

test('calls are folded, and a link to one opens it, with a script and without', async () => {
  for (const javaScriptEnabled of [true, false]) {
    await visit(
      '/docs#100%',
      async (page) => {
        const height = await page.locator('main').evaluate((main) => main.scrollHeight);
        expect(height).toBeLessThan(3000);
        expect(await page.locator('#deleteImage').isVisible()).toBe(false);
        await page.goto(`${server.url}/docs#deleteImage`);
        await page.locator('#deleteImage').waitFor();
        await page.getByText('Responses').and(page.locator('#deleteImage summary')).click();
        await page.locator('#deleteImage .answer').first().waitFor();
      },
      { javaScriptEnabled },
    );
  }
});

test.each(['/docs', '/proxies'])('the page %s is compressed for those who read that', async (path) => {
  const bytesFor = async (accepted: string) => {
    const answer = await fetch(server.url + path, {
      headers: { 'accept-encoding': accepted },
      decompress: false,
    });
    expect(answer.headers.get('vary')).toContain('Accept-Encoding');
    return [answer.headers.get('content-encoding'), (await answer.arrayBuffer()).byteLength] as const;
  };
  const [packed, few] = await bytesFor('br, gzip');
  const [plain, many] = await bytesFor('gzip;q=0');
  expect([packed, plain]).toEqual(['gzip', null]);
  expect(few).toBeLessThan(many / 2);
});

test('the page loads little script, and nothing on it is too small to be hit', async () => {
  for (const viewport of [
    { width: 390, height: 844 },
    { width: 1440, height: 900 },
  ]) {
    await visit(
      '/docs#uploadImage',
      async (page) => {
        await call(page, 'uploadImage').getByText('Responses', { exact: true }).click();
        const bytes = await page.evaluate(async () => {
          const scripts = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'));
          const texts = await Promise.all(scripts.map(async ({ name }) => (await fetch(name)).text()));
          return texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);
        });
        expect(bytes).toBeGreaterThan(1_000);
        expect(bytes).toBeLessThan(MOST_SCRIPT_BYTES);
        expect(await smallTargets(page)).toEqual([]);
      },
      { viewport },
    );
  }
});

/** What can be hit and is smaller than it must be; links within a sentence may be. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate((least) => {
    const targets = [...document.querySelectorAll('main :is(a, button, summary, input, select, textarea)')];
    return targets
      .filter((one) => one.checkVisibility() && !(one.matches('a') && one.closest('p:not(.actions), dd')))
      .map((one) => ({ one, box: one.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && Math.min(box.width, box.height) < least)
      .map(
        ({ one, box }) => `${one.tagName} ${one.textContent?.trim().slice(0, 30)} ${box.width}x${box.height}`,
      );
  }, LEAST_TARGET_PX);
}
