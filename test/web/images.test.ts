import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { startBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { CAMERA_EXIF, quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { checkLooks, createVisitor, overflowOf } from './visitor.ts';

const SETTINGS = { RATE_LIMITS: 'off', IMAGE_MAX_UPLOAD: '2MiB' };
const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };
/** What Chromium writes when a document itself is answered with an error. */
const ANSWERED_401 = /status of 401/;
/** A browser may ask for the picture of a list when it has just been deleted. */
const ASKED_TOO_LATE = /404 \(Not Found\) .*\?w=\d+\)$/;

let server: ServerProcess;
let browser: TestBrowser;
let picture: Buffer;
const visit = createVisitor(
  () => browser,
  () => server.url,
);

const file = (name: string, buffer = picture) => ({ name, mimeType: 'image/png', buffer });

async function upload(name: string, query = ''): Promise<{ id: string; delete_token: string }> {
  const answer = await fetch(`${server.url}/api/upload?filename=${encodeURIComponent(name)}&${query}`, {
    method: 'POST',
    body: new Uint8Array(picture),
  });
  return json(answer);
}

const cardOf = (page: Page, name: string) => page.locator('.upload-card').filter({ hasText: name });
const status = async (path: string) => (await fetch(server.url + path)).status;

beforeAll(async () => {
  picture = await quarters(900, 600).png().toBuffer();
  [server, browser] = await Promise.all([startServer('bun', SETTINGS), startBrowser()]);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  expect(await server?.stop()).toBe(0);
});

test('the first page is small', async () => {
  const visited = await browser.visit(server.url);
  const session = await visited.context.newCDPSession(visited.page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await session.send('Network.enable');
  await visited.page.goto(server.url, { waitUntil: 'networkidle' });
  await visited.close();
  expect(bytes).toBeGreaterThan(5000);
  expect(bytes).toBeLessThan(60_000);
});

describe('seeing and deleting', () => {
  test('a password is asked for, wrong ones are refused in words, the right one is asked for once', async () => {
    await visit(
      '/',
      async (page) => {
        await page.getByLabel('Who can see it').selectOption('protected');
        await page.getByLabel('Password').fill('open sesame');
        await page.setInputFiles('#file', file('hidden.png'));
        await cardOf(page, 'hidden.png').getByRole('link', { name: 'hidden.png' }).click();
        await page.getByLabel('Password').fill('wrong');
        await page.keyboard.press('Enter');
        await page.getByText('Wrong password.').waitFor();
        await page.getByLabel('Password').fill('open sesame');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'hidden.png' }).waitFor();
        const shown = page.locator('.picture img:not(.blur)');
        await shown.evaluate((img: HTMLImageElement) => img.decode());
        await page.reload();
        await page.getByRole('heading', { name: 'hidden.png' }).waitFor();
      },
      { expected: ANSWERED_401 },
    );
  });

  test('the page of a picture copies its links and deletes after a question', async () => {
    const { id } = await upload('on page.png');
    await visit(
      `/i/${id}`,
      async (page) => {
        await page.getByLabel('What to copy').selectOption('BBCode');
        await page.getByRole('button', { name: 'Copy BBCode of on page.png' }).click();
        await page.locator('.copy-link.done').waitFor();
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        expect(copied).toBe(`[img]${server.url}/i/${id}.webp[/img]`);
        await page.getByRole('link', { name: 'Delete' }).click();
        expect(await status(`/i/${id}`)).toBe(200);
        await page.getByRole('button', { name: 'Delete' }).click();
        await page.getByText('Picture deleted').waitFor();
      },
      CLIPBOARD,
    );
    expect(await status(`/i/${id}`)).toBe(404);
  });

  test('the gallery finds while one types', async () => {
    await upload('row 25.png');
    await visit('/gallery', async (page) => {
      await page.getByRole('searchbox').pressSequentially('row 25');
      await page.locator('#results').getByText('1 picture for “row 25”').waitFor();
      expect(new URL(page.url()).search).toBe('?q=row+25');
      expect(await page.locator('.shot').count()).toBe(1);
      await page.getByRole('searchbox').fill('nothing like it');
      await page.locator('#results').getByText('No pictures match.').waitFor();
    });
  });
});

describe('a visit from the first page to the last', () => {
  test.each([
    [390, 'light'],
    [768, 'dark'],
    [1440, 'light'],
  ] as const)('goes well at a width of %d, beginning in the %s', async (width, colorScheme) => {
    const name = `${width}.jpg`;
    const screen = { viewport: { width, height: 900 }, colorScheme, hasTouch: width < 500 };
    const photo = await quarters(900, 600).withExif(CAMERA_EXIF).jpeg().toBuffer();
    await visit(
      '/',
      async (page) => {
        const copied = () => page.evaluate(() => navigator.clipboard.readText());
        const heading = (text: string) => page.getByRole('heading', { name: text, exact: true }).waitFor();
        const fits = async () => expect(await overflowOf(page)).toBe(0);
        await page.getByLabel('Who can see it').selectOption('public');
        await page.getByText('More options').click();
        await page.getByLabel('Format').selectOption('jpeg');
        await page.getByLabel('Keep').check();
        await page.setInputFiles('#file', file(name, photo));
        await cardOf(page, name).locator('.copy-link').click();
        await cardOf(page, name).getByText('Copied').waitFor();
        await fits();

        await cardOf(page, name)
          .getByText(/ · JPEG$/)
          .waitFor();

        await page.goto(await copied());
        await heading(name);
        await page.locator('.facts dd').getByText('JPEG', { exact: true }).waitFor();
        await page.getByText('Camera details').press('Enter');
        await page.getByText('Canon EOS R5').waitFor();
        await fits();
        await page.locator('.frame').press('Enter');
        await page.getByRole('dialog', { name: 'View full size' }).waitFor();
        await page.keyboard.press('Escape');
        await page.getByLabel('What to copy').selectOption('Markdown');
        await page.getByRole('button', { name: 'Copy Markdown' }).click();
        await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith('!['));

        await page.getByRole('link', { name: 'Gallery' }).first().click();
        await page.getByText('Filters').click();
        await page.getByLabel('Format', { exact: true }).selectOption('jpeg');
        await page.getByRole('searchbox').fill(name);
        await page.locator('#results').getByText('1 picture').waitFor();
        await fits();
        await page.locator('.shot').click();
        await heading(name);
        await page.goBack();
        await heading('Gallery');

        await page.getByRole('link', { name: 'API' }).first().click();
        await page.getByRole('searchbox').fill('albums');
        await page.getByText(/^\d+ operations? found$/).waitFor();
        const call = page.locator('.call:visible').first();
        await call.locator(':scope > summary').click();
        await call.locator('pre:visible').first().waitFor();
        await fits();

        const kept = page.waitForResponse(/\/preferences$/);
        await page.getByRole('button', { name: colorScheme === 'dark' ? 'Light' : 'Dark' }).click();
        await kept;
        await page.getByRole('button', { name: '简体中文' }).click();
        await page.getByRole('link', { name: '上传' }).click();
        await page.getByRole('heading', { name: '拖入图片' }).waitFor();
        await fits();
        await page
          .locator('#mine')
          .getByRole('button', { name: `删除 ${name}` })
          .click();
        await page.locator('#mine').waitFor({ state: 'hidden' });
      },
      { ...screen, ...CLIPBOARD, expected: ASKED_TOO_LATE },
    );
  });
});

describe('without scripts', () => {
  const off = { javaScriptEnabled: false };

  test('the password form and the search work', async () => {
    const { id } = await upload('secret.png', 'password=swordfish');
    await visit(
      `/i/${id}`,
      async (page) => {
        await page.getByLabel('Password').fill('swordfish');
        await page.getByRole('button', { name: 'Show picture' }).click();
        await page.getByRole('heading', { name: 'secret.png' }).waitFor();
        await page.goto(`${server.url}/gallery`);
        await page.getByRole('searchbox').fill('row 25');
        await page.getByRole('button', { name: 'Search' }).click();
        expect(await page.locator('.shot').count()).toBe(1);
      },
      { ...off, expected: ANSWERED_401 },
    );
  });

  test('a picture is deleted after a question, and the calls of the API open', async () => {
    const { id, delete_token } = await upload('unwanted.png');
    await visit(
      `/i/${id}/delete?token=${delete_token}`,
      async (page) => {
        await page.getByRole('button', { name: 'Delete' }).click();
        await page.getByText('Picture deleted').waitFor();
        await page.goto(`${server.url}/docs`);
        await page.locator('.call > summary').first().click();
        await page.locator('.call[open] pre:visible').first().waitFor();
      },
      off,
    );
    expect(await status(`/i/${id}`)).toBe(404);
  });
});

const PAGES: string[] = ['/', '/gallery', 'image', 'locked', '/docs', '/nowhere'];
test.each(PAGES)(
  'the page %s has nothing serious against it, fits a telephone, waits for one file to paint, and does not move',
  async (name) => {
    let path = name;
    if (name === 'image') path = `/i/${(await upload('look.png')).id}`;
    if (name === 'locked') path = `/i/${(await upload('locked.png', 'password=x')).id}`;
    await visit(path, checkLooks, { viewport: { width: 360, height: 740 }, expected: /status of 40[14]/ });
  },
);
