import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { photo } from '../support/images/images.ts';
import { startScanner } from '../support/scanner.ts';
import { startSite } from './site.ts';
import { checkLooks } from './visitor.ts';

const scanner = startScanner();
const server = startSite({
  ...{ SERVICES: 'image', ADMIN_TOKEN, TRUSTED_PROXIES: 'loopback' },
  IMAGE_SCAN_URL: `http://127.0.0.1:${scanner.port}/`,
  IMAGE_SCAN_SECRET: 'a-secret-of-the-scanner',
});
afterAll(() => scanner.stop(true));
const { visit } = server;
const picture = await photo(600, 400);

const upload = (name: string, from = '192.0.2.7') =>
  server.upload(`filename=${name}.jpg`, picture, { 'x-forwarded-for': from });
const statusOf = async (id: string) => (await fetch(`${server.url}/api/info/${id}`)).status;

/** Of the login page, which no token has been sent to yet. */
const EXPECTED = { expected: /status of 401/ };

async function login(page: Page): Promise<void> {
  await page.getByLabel('Token of an administrator or moderator').fill(ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Pictures' }).waitFor();
}

describe.each([true, false])('with scripts: %p', (javaScriptEnabled) => {
  const options = { ...EXPECTED, javaScriptEnabled };

  test('a moderator finds the pictures of a network, and deletes and blocks it', async () => {
    const network = javaScriptEnabled ? '203.0.113' : '198.51.100';
    const ids = await Promise.all([1, 2, 3].map((last) => upload(`spam-${last}`, `${network}.${last}`)));
    await visit(
      '/admin',
      async (page) => {
        await login(page);
        await page
          .getByRole('link', { name: `${network}.0/24` })
          .first()
          .click();
        await page.getByRole('button', { name: 'Delete and block network' }).waitFor();
        expect(await page.locator('.admin-grid input:checked').count()).toBe(3);
        await page.getByRole('button', { name: 'Delete and block network' }).click();
        await page.getByText('3 pictures will be deleted.').waitFor();
        expect(await page.locator('main').textContent()).toContain('3 stored pictures');
        await page.getByLabel('Reason').selectOption('spam');
        // Small versions that are still on their way would be gone with their pictures.
        await page.waitForLoadState('networkidle');
        await page.getByRole('button', { name: 'Delete and block network' }).click();
        await page.getByText('3 pictures deleted.').waitFor();
      },
      options,
    );
    expect(await Promise.all(ids.map(({ id }) => statusOf(id)))).toEqual([404, 404, 404]);
  }, 60_000);

  test('pictures in review are decided one after the other', async () => {
    const [first, second] = [await upload('review-1'), await upload('review-2')];
    await visit(
      '/admin/reviews',
      async (page) => {
        await login(page);
        // The second press of a key decides nothing about a picture that nobody has seen.
        await page.addInitScript(() => {
          addEventListener('DOMContentLoaded', () =>
            document.dispatchEvent(new KeyboardEvent('keydown', { key: 'd' })),
          );
        });
        await page.getByRole('link', { name: 'Review', exact: true }).click();
        await page.getByText('2 pictures are waiting.').waitFor();
        const press = async (key: string, name: string) => {
          const button = page.getByRole('button', { name });
          // Once it can be clicked, keys work as well.
          await button.click({ trial: javaScriptEnabled });
          if (javaScriptEnabled) await page.keyboard.press(key);
        };
        await press('a', 'Publish');
        await page.getByText('1 picture is waiting.').waitFor();
        await press('d', 'Delete');
        await page.getByText('There is nothing here.').waitFor();
      },
      options,
    );
    expect([await statusOf(first.id), await statusOf(second.id)]).toEqual([200, 404]);
  }, 60_000);

  test('a visitor reports, a moderator decides, and the uploader reads why', async () => {
    const image = await upload(`shown-${javaScriptEnabled}`);
    const plain = { javaScriptEnabled };
    await visit(
      `/i/${image.id}`,
      async (page) => {
        await page.getByRole('link', { name: 'Report' }).click();
        await page.getByLabel('Reason').selectOption('privacy');
        if (javaScriptEnabled) await checkLooks(page, { painted: false });
        await page.getByRole('button', { name: 'Send report' }).click();
        await page.getByText('Nobody has decided yet.').waitFor();
        const receipt = page.url();
        await visit(
          '/admin/reports',
          async (desk) => {
            await login(desk);
            await desk.getByRole('link', { name: 'Reports', exact: true }).click();
            if (javaScriptEnabled) await checkLooks(desk, { painted: false });
            await desk.waitForLoadState('networkidle');
            await desk.getByRole('button', { name: 'Delete' }).click();
            await desk.getByText('There is nothing here.').waitFor();
          },
          options,
        );
        await page.goto(receipt);
        await page.getByText('A moderator has removed it.').waitFor();
      },
      plain,
    );
    await visit(
      `/i/${image.id}/delete?token=${image.delete_token}`,
      async (page) => {
        await page.getByText('it shows a person who does not agree').waitFor();
        if (javaScriptEnabled) await checkLooks(page, { painted: false });
        await page.getByLabel('Your answer').fill('That is me.');
        await page.getByRole('button', { name: 'Send answer' }).click();
        await page.getByText('Your answer is recorded.').waitFor();
      },
      plain,
    );
  }, 90_000);
});

test('every page of the administration is well-formed on every screen', async () => {
  await upload('shown');
  await upload('review-shown');
  await visit(
    '/admin',
    async (page) => {
      await checkLooks(page, { painted: false });
      await login(page);
      for (const place of ['', '/reviews', '/reports', '/log', '/tokens', '/server']) {
        await page.goto(`${server.url}/admin${place}`);
        expect(await page.getByText('times in UTC').isVisible()).toBe(true);
        await checkLooks(page, { painted: false });
      }
      await page.setViewportSize({ width: 320, height: 256 });
      await page.goto(`${server.url}/admin`);
      // The bar at the end of the screen covers nothing that the keyboard reaches.
      for (let stop = 0; stop < 25; stop++) {
        await page.keyboard.press('Tab');
        const over = await page.evaluate(() => {
          const { x = 0, y = 0, height = 0 } = document.activeElement?.getBoundingClientRect() ?? {};
          return document.elementFromPoint(x + 5, y + height / 2)?.closest('.admin-acts, :focus')?.className;
        });
        expect([stop, over]).not.toEqual([stop, 'actions admin-acts']);
      }
    },
    EXPECTED,
  );
}, 120_000);
