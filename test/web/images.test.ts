import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { animation, photo, quarters } from '../support/images.ts';
import { json } from '../support/json.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { checkLooks, createVisitor } from './visitor.ts';

const SETTINGS = { RATE_LIMITS: 'off', IMAGE_MAX_UPLOAD: '2MiB' };
const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };
/** What Chromium writes when a document itself is answered with an error. */
const ANSWERED_401 = /status of 401/;

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

/** Hands a picture to the page as a drop or a paste of the system would. */
async function hand(page: Page, event: 'drop' | 'paste', name: string): Promise<void> {
  await page.evaluate(
    ({ base64, event, name }) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], name, { type: 'image/png' }));
      const init = { bubbles: true, cancelable: true };
      const target = document.querySelector('.dropzone');
      if (event === 'paste')
        target?.dispatchEvent(new ClipboardEvent('paste', { ...init, clipboardData: data }));
      else target?.dispatchEvent(new DragEvent('drop', { ...init, dataTransfer: data }));
    },
    { base64: picture.toString('base64'), event, name },
  );
}

const cardOf = (page: Page, name: string) => page.locator('.upload-card').filter({ hasText: name });
const status = async (path: string) => (await fetch(server.url + path)).status;

beforeAll(async () => {
  picture = await quarters(900, 600).png().toBuffer();
  [server, browser] = await Promise.all([startServer('bun', SETTINGS), startBrowser()]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  expect(await server?.stop()).toBe(0);
});

describe('uploading', () => {
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

  test('several chosen files each get a thumbnail, links to copy, and a place in the list of this browser', async () => {
    await visit(
      '/',
      async (page) => {
        await page.setInputFiles('#file', [file('one.png'), file('two.png')]);
        for (const name of ['one.png', 'two.png']) {
          const card = cardOf(page, name);
          await card.getByText('900 × 600').waitFor();
          expect(await card.locator('img').evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(900);
          expect(await card.getByRole('button', { name: /^Copy/ }).count()).toBe(5);
        }
        await cardOf(page, 'one.png').getByText('Markdown').click();
        await cardOf(page, 'one.png').getByText('Copied').waitFor();
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        expect(copied).toMatch(/^!\[one\.png\]\(http.*\/i\/\w{12}\.webp\)$/);
        await page.reload();
        expect(await page.locator('#mine-list li').count()).toBe(2);
      },
      CLIPBOARD,
    );
  });

  test.each(['drop', 'paste'] as const)('a %s is an upload', async (event) => {
    await visit('/', async (page) => {
      await hand(page, event, `by-${event}.png`);
      await cardOf(page, `by-${event}.png`).getByText('Open').click();
      await page.getByRole('heading', { name: `by-${event}.png` }).waitFor();
    });
  });

  test('what a picture has lost stands below it', async () => {
    await visit('/', async (page) => {
      await page.locator('summary').getByText('Options').click();
      await page.selectOption('#format', 'jpeg');
      await page.setInputFiles('#file', file('moving.gif', await animation('gif')));
      await cardOf(page, 'moving.gif').getByText('Only the first of 3 frames is kept in JPEG').waitFor();
    });
  });

  test('what is no picture, or too large, is said in words', async () => {
    await visit(
      '/',
      async (page) => {
        await page.setInputFiles('#file', file('letter.png', Buffer.from('Dear all,')));
        await cardOf(page, 'letter.png')
          .getByText(/no known picture format; JPEG/)
          .waitFor();
        await page.setInputFiles('#file', file('huge.png', Buffer.alloc(3_000_000)));
        await cardOf(page, 'huge.png').getByText('2 MiB are the most').waitFor();
        await cardOf(page, 'huge.png').getByText('Dismiss').click();
        expect(await cardOf(page, 'huge.png').count()).toBe(0);
      },
      { expected: /status of 415/ },
    );
  });

  test('progress is what has really been sent, and can be cancelled', async () => {
    const large = await photo(1400, 1100);
    await visit('/', async (page) => {
      const session = await page.context().newCDPSession(page);
      await session.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput: 60_000,
      });
      await page.setInputFiles('#file', file('slow.jpg', large));
      await page.waitForFunction(() => {
        const { value = 0 } = document.querySelector('progress') ?? {};
        return value > 0 && value < 1;
      });
      await cardOf(page, 'slow.jpg').getByText('Cancel').click();
      expect(await cardOf(page, 'slow.jpg').count()).toBe(0);
      expect(await page.locator('#mine-list li').count()).toBe(0);
    });
    const found = await json<{ total: number }>(await fetch(`${server.url}/api/search?q=slow.jpg`));
    expect(found.total).toBe(0);
  });

  test('the keyboard alone is enough', async () => {
    await visit(
      '/',
      async (page) => {
        // Asked for early: the browser takes a moment to hand its choosers over.
        const chooser = page.waitForEvent('filechooser');
        await page.keyboard.press('Tab');
        expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
        await page.keyboard.press('Enter');
        await page.keyboard.press('Tab');
        expect(await page.evaluate(() => document.activeElement?.id)).toBe('file');
        const outline = await page
          .locator('.dropzone')
          .evaluate((zone) => getComputedStyle(zone).outlineStyle);
        expect(outline).toBe('solid');
        await page.keyboard.press('Space');
        await (await chooser).setFiles(file('keys.png'));
        await cardOf(page, 'keys.png').getByText('Open').waitFor();
        // Past who sees it, the password and the options.
        for (let stop = 0; stop < 4; stop++) await page.keyboard.press('Tab');
        expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Link');
        await page.keyboard.press('Enter');
        await cardOf(page, 'keys.png').getByText('Copied').waitFor();
      },
      CLIPBOARD,
    );
  });
});

describe('seeing and deleting', () => {
  test('a password is asked for, wrong ones are refused in words, the right one is asked for once', async () => {
    await visit(
      '/',
      async (page) => {
        await page.getByText('Options').click();
        await page.getByLabel('Password').fill('open sesame');
        await page.setInputFiles('#file', file('hidden.png'));
        await cardOf(page, 'hidden.png').getByText('Open').click();
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

  test('a picture is deleted from the list of this browser', async () => {
    await visit('/', async (page) => {
      page.on('dialog', (dialog) => void dialog.accept());
      await page.setInputFiles('#file', file('short-lived.png'));
      const open = cardOf(page, 'short-lived.png').getByText('Open');
      const path = new URL((await open.getAttribute('href')) ?? '').pathname;
      await page.locator('#mine-list').getByRole('button', { name: 'Delete short-lived.png' }).click();
      await page.locator('#mine').waitFor({ state: 'hidden' });
      expect(await status(path)).toBe(404);
    });
  });

  test('the page of a picture copies its links and deletes after a question', async () => {
    const { id } = await upload('on page.png');
    await visit(
      `/i/${id}`,
      async (page) => {
        await page.getByRole('button', { name: 'Copy BBCode' }).click();
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

  test('the gallery finds while one types, and has pages', async () => {
    for (let count = 0; count < 26; count += 2) {
      await Promise.all([upload(`row ${count}.png`), upload(`row ${count + 1}.png`)]);
    }
    await visit('/gallery', async (page) => {
      await page.getByText('Next').click();
      expect(await page.locator('.pagination').textContent()).toContain('Page 2 of');
      await page.getByRole('searchbox').pressSequentially('row 25');
      await page.locator('#results').getByText('1 picture for “row 25”').waitFor();
      expect(new URL(page.url()).search).toBe('?q=row+25');
      expect(await page.locator('.tile').count()).toBe(1);
      await page.getByRole('searchbox').fill('nothing like it');
      await page.getByText('No picture has this').waitFor();
    });
  });
});

describe('without scripts', () => {
  const off = { javaScriptEnabled: false };

  test('a picture is uploaded, and its delete link is shown once', async () => {
    await visit(
      '/',
      async (page) => {
        await page.setInputFiles('#file', file('plain.png'));
        await page.getByRole('button', { name: 'Upload' }).click();
        await page.getByRole('heading', { name: 'plain.png' }).waitFor();
        expect(await page.locator('#copy-delete').inputValue()).toMatch(/\/i\/\w{12}\/delete\?token=\w{32}$/);
        expect(await page.locator('.needs-script:visible').count()).toBe(0);
        await page.reload();
        expect(await page.locator('#copy-delete').count()).toBe(0);
      },
      off,
    );
  });

  test('what cannot be taken is said on a page', async () => {
    await visit(
      '/',
      async (page) => {
        await page.setInputFiles('#file', file('letter.png', Buffer.from('Dear all,')));
        await page.getByRole('button', { name: 'Upload' }).click();
        await page.getByRole('heading', { name: 'This file type is not supported' }).waitFor();
      },
      { ...off, expected: /status of 415/ },
    );
  });

  test('the password form and the search work', async () => {
    const { id } = await upload('secret.png', 'password=swordfish');
    await visit(
      `/i/${id}`,
      async (page) => {
        await page.getByLabel('Password').fill('swordfish');
        await page.getByRole('button', { name: 'Show picture' }).click();
        await page.getByRole('heading', { name: 'secret.png' }).waitFor();
        await page.goto(`${server.url}/gallery`);
        await page.getByRole('searchbox').fill('plain');
        await page.getByRole('button', { name: 'Search' }).click();
        expect(await page.locator('.tile').count()).toBe(1);
      },
      { ...off, expected: ANSWERED_401 },
    );
  });
});

const PAGES: string[] = ['/', '/gallery', 'image', 'locked', '/docs', '/nowhere'];
test.each(PAGES)(
  'the page %s has nothing serious against it, fits a telephone, paints soon, and does not move',
  async (name) => {
    let path = name;
    if (name === 'image') path = `/i/${(await upload('look.png')).id}`;
    if (name === 'locked') path = `/i/${(await upload('locked.png', 'password=x')).id}`;
    await visit(path, checkLooks, { viewport: { width: 360, height: 740 }, expected: /status of 40[14]/ });
  },
);
