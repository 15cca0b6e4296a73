import { describe, expect, test } from 'bun:test';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import sharp from 'sharp';
import { photo, privatePhoto, quarters } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';
import { startScanner } from '../support/scanner.ts';
import { startRelay } from '../support/servers/relay.ts';
import { startServer } from '../support/servers/server-process.ts';
import { shared } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';
import { CLIPBOARD, cardOf, changeMine, clipboard, handTo, mineOf, waitForMine } from './kept.ts';
import { checkWork, type PageWork } from './page-work.ts';
import { SITE, startSite } from './site.ts';
import { checkLooks, shiftsOf, uploadOne, watchShifts } from './visitor.ts';

const SETTINGS = {
  IMAGE_MAX_UPLOAD: '2MiB',
  // The server that a picture is fetched from is this one.
  ...{ IMAGE_FROM_URL: 'open', PROXY_ALLOW_PRIVATE: 'true' },
};
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
/** The options are the most that a step shows. A modal dialog would restyle all 280 elements of the page. */
const MOST_WORK: PageWork = { restyled: 100, laidOut: 100, present: 500 };
/** What Chromium writes about answers and connections that a test spoils on purpose. */
const SPOILT = /status of 4\d\d|net::ERR_/;
const visitSpoilt = (path: string, work: (page: Page) => Promise<void>) =>
  visit(path, work, { expected: SPOILT });

const server = startSite(SETTINGS, { 'nas.local': '127.0.0.1' });
const relay = shared(() => startRelay(Number(new URL(server.url).port)));
const [picture, large] = await Promise.all([quarters(900, 600).png().toBuffer(), photo(1400, 1100)]);
const { visit, visitBy } = server;
/** By way of a link that can be cut. */
const visitFar = visitBy(() => `http://127.0.0.1:${relay.port}`);

/** By a name to which browsers give neither a clipboard nor a worker without HTTPS. */
const visitPlain = visitBy(() => server.url.replace('127.0.0.1', 'nas.local'));

const file = (name: string, buffer: Buffer = picture) => ({ name, mimeType: 'image/png', buffer });
const choose = (page: Page, ...files: ReturnType<typeof file>[]) => page.setInputFiles('#file', files);
const copyButton = (page: Page, name: string) => cardOf(page, name).locator('.copy-link');
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.id);
const status = async (path: string) => (await fetch(server.url + path)).status;

async function onlyMine(page: Page) {
  const [only, ...others] = await mineOf(page);
  if (!only || others.length > 0) throw new Error('this browser has more or fewer pictures than one');
  return only;
}

async function found(name: string): Promise<number> {
  const answer = await fetch(`${server.url}/api/search?q=${encodeURIComponent(name)}`);
  return (await json<{ total: number }>(answer)).total;
}

const hand = (page: Page, event: 'drop' | 'paste', name: string) =>
  handTo(page.locator('.dropzone'), event, { name, type: 'image/png', bytes: picture });

/** So slow that a test can do something while a picture is on its way. */
async function slowDown(page: Page): Promise<(offline: boolean) => Promise<void>> {
  const session: CDPSession = await page.context().newCDPSession(page);
  const emulate = (offline: boolean, uploadThroughput: number) =>
    session
      .send('Network.emulateNetworkConditions', {
        offline,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput,
      })
      .then(() => {});
  await emulate(false, 60_000);
  return (offline) => emulate(offline, -1);
}

const isUnderWay = (page: Page) =>
  page.waitForFunction(() => {
    const { value = 0 } = document.querySelector('progress') ?? {};
    return value > 0 && value < 1;
  });

describe('a picture that is chosen', () => {
  test('tells how much smaller it became, what was taken out, and who sees it until when', async () => {
    await visit('/', async (page) => {
      await page.getByLabel('Who can see it').selectOption('unlisted');
      await page.getByLabel('Expires after').selectOption('1h');
      await page.getByLabel('Views').fill('3');
      await choose(page, file('where.jpg', await privatePhoto('jpeg', 1, [1600, 900])));
      const card = cardOf(page, 'where.jpg');
      await card.getByText(/^\d+ KB to [\d.]+ KB, location removed · 1600/).waitFor();
      await card.getByText('Anyone with the link · 3 views · expires in 1 hour').waitFor();
    });
  });

  test('takes little work of the browser for a click or a key on a telephone', async () => {
    await visit(
      '/',
      async (page) => {
        const card = cardOf(page, 'work.png');
        await choose(page, file('work.png'));
        await copyButton(page, 'work.png').waitFor();
        const steps = {
          opening: () => page.getByText('More options').click(),
          copying: () => copyButton(page, 'work.png').click(),
          scanning: async () => {
            await card.getByRole('button', { name: 'QR code' }).click();
            const code = page.getByRole('dialog').getByRole('img');
            await code.evaluate((img: HTMLImageElement) => img.decode());
          },
          leaving: async () => {
            await page.keyboard.press('Escape');
            await page.getByRole('dialog').waitFor({ state: 'detached' });
          },
        };
        await checkWork(page, steps, MOST_WORK);
      },
      { ...CLIPBOARD, ...PHONE },
    );
  });

  test('may come by a drop', async () => {
    await visit('/', async (page) => {
      await hand(page, 'drop', 'dropped.png');
      await cardOf(page, 'dropped.png').getByRole('link', { name: 'dropped.png' }).click();
      await page.getByRole('heading', { name: 'dropped.png' }).waitFor();
    });
  });

  test('may come by a paste or a drop of its address, but not where text is typed', async () => {
    const { raw_url: address } = await json<{ raw_url: string }>(
      await fetch(`${server.url}/api/upload?format=png`, { method: 'POST', body: new Uint8Array(picture) }),
    );
    const name = address.split('/').at(-1) ?? '';
    await visit(
      '/',
      async (page) => {
        const paste = async (text: string) => {
          await page.evaluate((text) => navigator.clipboard.writeText(text), text);
          await page.keyboard.press('Control+V');
        };
        await page.getByLabel('Views').focus();
        await paste(address);
        await page.getByLabel('Views').fill('');
        // Where pictures are chosen, nothing is typed.
        await page.locator('#file').focus();
        await paste(address);
        await cardOf(page, name).getByRole('link', { name, exact: true }).waitFor();
        expect(await page.locator('.upload-card').count()).toBe(1);
        await page.locator('h2').first().click();
        const nothing = page.getByText('The clipboard holds no picture.');
        await page.locator('footer').scrollIntoViewIfNeeded();
        await paste('http://127.0.0.1:9/words.png is a picture');
        await nothing.waitFor();
        expect(await nothing.evaluate((said) => said.getBoundingClientRect().top)).toBeGreaterThan(0);
        await paste('http://127.0.0.1:9/none.png');
        await nothing.waitFor({ state: 'hidden' });
        await page.locator('#failures').getByText('none.png').waitFor();
        for (const [place, name] of [
          ['#password', 'field.png'],
          ['.dropzone', 'dropped.png'],
        ] as const)
          await page.locator(place).evaluate((element, name) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.setData('text/uri-list', `http://127.0.0.1:9/${name}`);
            const init = { dataTransfer, bubbles: true, cancelable: true };
            for (const event of ['dragover', 'drop']) element.dispatchEvent(new DragEvent(event, init));
          }, name);
        await page.locator('#failures').getByText('dropped.png').waitFor();
        expect(await page.getByText(/words.png|field.png/).count()).toBe(0);
      },
      { ...CLIPBOARD, expected: SPOILT },
    );
  });

  test('is copied by itself after a paste, and that is said', async () => {
    await visit(
      '/',
      async (page) => {
        await page.mouse.click(5, 5);
        await hand(page, 'paste', 'pasted.png');
        await cardOf(page, 'pasted.png').getByText('The link is in your clipboard.').waitFor();
        expect(await clipboard(page)).toBe(
          (await cardOf(page, 'pasted.png').locator('.share-text').textContent()) ?? '',
        );
      },
      CLIPBOARD,
    );
  });

  test('is copied by its button also where the browser offers no clipboard', async () => {
    await visitPlain('/', async (page) => {
      expect(await page.evaluate(() => 'clipboard' in navigator || 'serviceWorker' in navigator)).toBe(false);
      await choose(page, file('plain.png'));
      await copyButton(page, 'plain.png').click();
      await cardOf(page, 'plain.png').getByText('Copied').waitFor();
      expect(await focused(page)).toBe('Copy link of plain.png');
      await page.reload();
      await page.getByRole('button', { name: 'Copy link of plain.png' }).waitFor();
    });
  });

  test('is a shared link with two taps on a phone, and nothing has jumped', async () => {
    await visit(
      '/',
      async (page) => {
        await watchShifts(page);
        expect(await page.getByText('paste with').isVisible()).toBe(false);
        const chooser = page.waitForEvent('filechooser');
        await page.getByText('Choose pictures').tap();
        await (await chooser).setFiles(file('tap.png'));
        await page.getByRole('heading', { name: 'Your picture is online' }).waitFor();
        expect(
          await copyButton(page, 'tap.png').evaluate(
            (one) => one.getBoundingClientRect().bottom <= window.innerHeight,
          ),
        ).toBe(true);
        await copyButton(page, 'tap.png').tap();
        await cardOf(page, 'tap.png').getByText('Copied').waitFor();
        expect(await clipboard(page)).toMatch(new RegExp(`^${server.url}/i/\\w{12}$`));
        expect(await shiftsOf(page)).toBeLessThan(0.02);
      },
      { ...CLIPBOARD, ...PHONE },
    );
  });

  test('needs nothing but the keyboard', async () => {
    await visit(
      '/',
      async (page) => {
        // Asked for early: the browser takes a moment to hand its choosers over.
        const chooser = page.waitForEvent('filechooser');
        await page.keyboard.press('Tab');
        expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
        await page.keyboard.press('Enter');
        await page.keyboard.press('Tab');
        expect(await focused(page)).toBe('file');
        const outline = await page
          .locator('.dropzone')
          .evaluate((zone) => getComputedStyle(zone).outlineStyle);
        expect(outline).toBe('solid');
        await page.keyboard.press('Space');
        await (await chooser).setFiles(file('keys.png'));
        await page.waitForFunction(() => document.activeElement?.classList.contains('copy-link'));
        await page.keyboard.press('Enter');
        await cardOf(page, 'keys.png').getByText('Copied').waitFor();
        for (let stop = 0; stop < 3; stop++) await page.keyboard.press('Tab');
        expect(await focused(page)).toBe('Show keys.png in the gallery');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Drop a picture' }).waitFor();
        await page.waitForFunction(() => document.activeElement?.id === 'file');
      },
      CLIPBOARD,
    );
  });
});

test('a long picture is kept in full size, and a large one says that it was scaled down', async () => {
  const [tall, wide] = await Promise.all(
    [quarters(300, 6000), quarters(6000, 2400)].map((one) => one.png().toBuffer()),
  );
  await visit('/', async (page) => {
    await choose(page, file('chat.png', tall), file('wide.png', wide));
    await page.getByRole('heading', { name: '2 pictures are online' }).waitFor();
    expect(await cardOf(page, 'chat.png').textContent()).toContain('300\u00a0×\u00a06000');
    expect(await cardOf(page, 'wide.png').textContent()).toContain(
      'scaled down to the size limit. 6000\u00a0×\u00a02400 to 4096\u00a0×\u00a01638.',
    );
  });
});

describe('many pictures', () => {
  test('are one list, copied all at once, with one failure among them', async () => {
    await visit(
      '/',
      async (page) => {
        const names = ['a.png', 'b.png', 'c.png', 'd.png'];
        await choose(page, ...names.map((name) => file(name)), file('letter.png', Buffer.from('Dear all,')));
        await page.getByRole('heading', { name: '4 of 5 uploaded' }).waitFor();
        await cardOf(page, 'letter.png')
          .getByText(/is not in a known picture format; JPEG/)
          .waitFor();
        await page.locator('#uploads-actions').getByLabel('What to copy').selectOption('BBCode');
        await page.getByRole('button', { name: 'Copy all' }).click();
        await page.getByRole('button', { name: 'Copied' }).waitFor();
        const lines = (await clipboard(page)).split('\n');
        expect(lines).toHaveLength(4);
        for (const line of lines) expect(line).toMatch(/^\[img\].*\/i\/\w{12}\.webp\[\/img\]$/);
        const heights = await page
          .locator('.upload-card')
          .evaluateAll((cards) => cards.map((card) => card.clientHeight));
        expect(Math.max(...heights)).toBeLessThan(140);
      },
      { ...CLIPBOARD, expected: SPOILT },
    );
  });

  test('are sent with the form as it was when they were chosen', async () => {
    await visit('/', async (page) => {
      const reset = await slowDown(page);
      await choose(page, ...['u1', 'u2', 'u3'].map((name) => file(`${name}.png`)));
      await page.getByLabel('Who can see it').selectOption('public');
      await reset(false);
      await page.getByRole('heading', { name: '3 pictures are online' }).waitFor();
      expect(await page.locator('.seen-by').allTextContents()).toEqual(Array(3).fill('Anyone with the link'));
    });
  });
});

describe('what cannot be uploaded', () => {
  test('is refused in words before it is sent, and can be put away', async () => {
    await visit('/', async (page) => {
      await choose(page, file('huge.png', Buffer.alloc(3_000_000)), file('nothing.png', Buffer.alloc(0)));
      await cardOf(page, 'huge.png').getByText('This file is 3 MB. The limit is 2 MiB.').waitFor();
      await cardOf(page, 'nothing.png').getByText('This file is empty.').waitFor();
      await cardOf(page, 'huge.png').getByText('Dismiss').click();
      expect(await cardOf(page, 'huge.png').count()).toBe(0);
      await cardOf(page, 'nothing.png').getByText('Dismiss').click();
      await page.getByRole('heading', { name: 'Drop a picture' }).waitFor();
    });
  });

  test('waits for a field that is wrong, where the browser says what is', async () => {
    await visit('/', async (page) => {
      await page.getByText('More options').click();
      await page.getByLabel('Maximum width').fill('0');
      await page.getByText('More options').click();
      await choose(page, file('patient.png'));
      expect(await focused(page)).toBe('max_width');
      await page.evaluate(() => document.dispatchEvent(new Event('paste')));
      await page.getByText('Correct the marked field, and your picture will be uploaded.').waitFor();
      const said = await page
        .getByLabel('Maximum width')
        .evaluate((field: HTMLInputElement) => field.validationMessage);
      expect(said).toBe('Value must be greater than or equal to 1.');
      await page.getByLabel('Maximum width').fill('100');
      await page.keyboard.press('Enter');
      await cardOf(page, 'patient.png').getByText('100').first().waitFor();
    });
  });

  test('may be a file that is gone when its turn comes', async () => {
    await withFolder((folder) =>
      visit(
        '/',
        async (page) => {
          const path = join(folder, 'gone.png');
          await writeFile(path, picture);
          await page.exposeFunction('removeFile', () => rm(path, { force: true }));
          await page.evaluate(() => {
            const { send } = XMLHttpRequest.prototype;
            XMLHttpRequest.prototype.send = function (body) {
              void (globalThis as unknown as { removeFile(): Promise<void> })
                .removeFile()
                .then(() => send.call(this, body));
            };
          });
          await page.setInputFiles('#file', path);
          await cardOf(page, 'gone.png').getByText('This cannot be read.').waitFor();
        },
        { expected: SPOILT },
      ),
    );
  });

  test('is told in the words of the form where the server alone knows it', async () => {
    await visitSpoilt('/', async (page) => {
      await page.route('**/api/upload', (route) =>
        route.fulfill({
          status: 400,
          json: {
            success: false,
            code: 'invalid_parameter',
            error: 'max_height must be an integer from 1 to 16384.',
            details: [{ field: 'max_height', message: 'must be an integer from 1 to 16384' }],
          },
        }),
      );
      await choose(page, file('option.png'));
      await cardOf(page, 'option.png')
        .getByText('Maximum height: this server does not allow that choice.')
        .waitFor();
    });
  });

  test('is asked for its password where only that opens it', async () => {
    await visit('/', async (page) => {
      expect(await page.getByLabel('Password').isVisible()).toBe(false);
      await page.getByLabel('Who can see it').selectOption('protected');
      await choose(page, file('secret.png'));
      await page.getByText('Correct the marked field').waitFor();
      await page.getByLabel('Password').fill('open sesame');
      await page.keyboard.press('Tab');
      await cardOf(page, 'secret.png').getByText('Anyone with the link and the password').waitFor();
    });
  });
});

describe('an upload under way', () => {
  test('shows what has really been sent, and can be cancelled', async () => {
    await visit('/', async (page) => {
      await page.getByLabel('Who can see it').selectOption('public');
      await slowDown(page);
      await choose(page, file('slow.jpg', large));
      await isUnderWay(page);
      await cardOf(page, 'slow.jpg').getByText('Cancel').click();
      expect(await cardOf(page, 'slow.jpg').count()).toBe(0);
      expect(await focused(page)).toBe('file');
      await page.reload();
      expect(await page.locator('#mine-list li').count()).toBe(0);
      // Before any progress is told, it may be a small one that is stored.
      await page.evaluate(() => {
        const { send } = XMLHttpRequest.prototype;
        XMLHttpRequest.prototype.send = function (body) {
          send.call(this, body);
          setTimeout(() => document.querySelector<HTMLElement>('.upload-card button')?.click());
        };
      });
      const stopped = page.waitForEvent('requestfailed');
      await choose(page, file('hasty.jpg', large));
      await stopped;
    });
    expect(await found('slow.jpg')).toBe(0);
  });

  test.each(['never', 'first', 'afterwards'])(
    'is deleted again if it was stored when it was cancelled, its answer lost: %s',
    async (when) => {
      await visitFar(
        '/',
        async (page) => {
          await page.getByLabel('Who can see it').selectOption('public');
          relay.slow(500);
          await choose(page, file('late.jpg', large));
          await until(async () => (await found('late.jpg')) === 1);
          if (when === 'first') {
            relay.cut();
            await cardOf(page, 'late.jpg').getByText('Connection lost. Trying again').waitFor();
            const hurry = await slowDown(page);
            relay.open();
            await isUnderWay(page);
            await cardOf(page, 'late.jpg').getByText('Cancel').click();
            await hurry(false);
          } else await cardOf(page, 'late.jpg').getByText('Cancel').click();
          expect(await cardOf(page, 'late.jpg').count()).toBe(0);
          if (when === 'afterwards') relay.cut();
          relay.open();
          await until(async () => (await found('late.jpg')) === 0);
          await waitForMine(page, 0);
        },
        { expected: SPOILT },
      );
    },
  );

  test('is not lost by leaving the page without a question', async () => {
    await visit('/', async (page) => {
      await slowDown(page);
      await page.mouse.click(5, 5);
      await choose(page, file('leaving.jpg', large));
      await isUnderWay(page);
      const asked = page.waitForEvent('dialog');
      await page.close({ runBeforeUnload: true });
      const dialog = await asked;
      expect(dialog.type()).toBe('beforeunload');
      await dialog.dismiss();
      await cardOf(page, 'leaving.jpg').getByText('Cancel').click();
      await page.close({ runBeforeUnload: true });
      await page.waitForEvent('close');
    });
  });

  test('goes on by itself when the network is back', async () => {
    await visitSpoilt('/', async (page) => {
      await page.getByLabel('Who can see it').selectOption('public');
      const setOffline = await slowDown(page);
      await choose(page, file('cut.jpg', large));
      await isUnderWay(page);
      await setOffline(true);
      await cardOf(page, 'cut.jpg').getByText('Connection lost. Trying again').waitFor();
      await setOffline(false);
      await cardOf(page, 'cut.jpg').locator('.copy-link').waitFor();
    });
    expect(await found('cut.jpg')).toBe(1);
  });

  test('and an album of it wait for a server that counts uploads', async () => {
    const counting = await startServer('bun', { ...SITE, RATE_LIMITS: 'upload=2/2s' });
    const visitCounting = visitBy(() => counting.url);
    try {
      await visitCounting(
        '/',
        async (page) => {
          await choose(page, ...['1.png', '2.png', '3.png', '4.png', '5.png'].map((name) => file(name)));
          await page.getByText('This one goes on in a moment').first().waitFor();
          await page.getByRole('heading', { name: '5 pictures are online' }).waitFor();
          await page.getByRole('button', { name: 'Make an album' }).click();
          await page.route('**/api/albums', (route) => route.fulfill({ status: 429 }), { times: 1 });
          await page.getByRole('button', { name: 'Create album' }).click();
          await page.getByRole('link', { name: '/a/' }).waitFor();
        },
        { expected: SPOILT },
      );
    } finally {
      await counting.stop();
    }
  });

  test('is stored once if its answer was lost on the way', async () => {
    await visitFar(
      '/',
      async (page) => {
        await page.getByLabel('Who can see it').selectOption('public');
        relay.slow(500);
        await choose(page, file('twice.png'));
        await until(async () => (await found('twice.png')) === 1);
        relay.cut();
        relay.open();
        await cardOf(page, 'twice.png').locator('.copy-link').waitFor();
      },
      { expected: SPOILT },
    );
    expect(await found('twice.png')).toBe(1);
  });

  test('is tried again by a button where the server stays away, with the form as it was', async () => {
    await visitFar(
      '/',
      async (page) => {
        await page.getByLabel('Who can see it').selectOption('public');
        const reset = await slowDown(page);
        await choose(page, file('far.jpg', large));
        await isUnderWay(page);
        await page.clock.install();
        relay.cut();
        const lost = cardOf(page, 'far.jpg').getByText('The connection was lost.');
        // It tries again after a pause, some times.
        while (!(await lost.isVisible())) await page.clock.fastForward(2000);
        relay.open();
        await reset(false);
        // Of what is sent from now on.
        await page.getByLabel('Who can see it').selectOption('unlisted');
        await cardOf(page, 'far.jpg').getByRole('button', { name: 'Try again' }).click();
        await cardOf(page, 'far.jpg').locator('.copy-link').waitFor();
      },
      { expected: SPOILT },
    );
    expect(await found('far.jpg')).toBe(1);
  });
});

describe('the list of this browser', () => {
  test('stands first, and leads the focus on when one is deleted', async () => {
    // Small versions may still be asked for.
    await visitSpoilt('/', async (page) => {
      await choose(page, file('old.png'), file('new.png'));
      await page.getByRole('heading', { name: '2 pictures are online' }).waitFor();
      await page.clock.install();
      await page.reload();
      const titles = await page.locator('main h2:visible').allInnerTexts();
      expect(titles[0]).toBe('From this browser');
      const items = page.locator('#mine-list li');
      const names = items.locator('> a');
      const [first = '', second = ''] = await names.allInnerTexts();
      const path = new URL((await names.first().getAttribute('href')) ?? '').pathname;
      await items.getByRole('button', { name: `Delete ${first}` }).click();
      expect(await items.filter({ visible: true }).count()).toBe(1);
      expect(await focused(page)).toBe(`Copy link of ${second}`);
      await items.getByRole('button', { name: `Delete ${second}` }).click();
      await page.locator('#mine').waitFor({ state: 'hidden' });
      expect(await focused(page)).toBe('file');
      expect(await status(path)).toBe(200);
      const deletion = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
      await page.clock.fastForward(8000);
      expect((await deletion).status()).toBe(200);
      expect(await status(path)).toBe(404);
    });
  });

  test('drops what is gone, and the card with it', async () => {
    await visitSpoilt('/', async (page) => {
      await uploadOne(page, file('gone.png'));
      const other = await page.context().newPage();
      await other.goto(server.url);
      await other.getByRole('button', { name: 'Delete gone.png' }).click();
      // What is left is deleted at once.
      await other.close({ runBeforeUnload: true });
      await page.locator('#uploads').waitFor({ state: 'hidden' });
      // The list keeps it until the server has confirmed it.
      while ((await mineOf(page)).length > 0) await Bun.sleep(50);
      await uploadOne(page, file('lost.png'));
      const known = await onlyMine(page);
      await fetch(`${server.url}/api/delete/${known.id}?token=${known.delete_token}`, { method: 'DELETE' });
      await page.reload();
      // It may come back, and its token is nowhere else.
      await page.locator('#mine').getByText('Not found on the server').waitFor();
      expect(await mineOf(page)).toMatchObject([{ id: known.id, missing: true }]);
      await page.getByRole('button', { name: 'Remove lost.png from the list' }).click();
      await page.locator('#mine').waitFor({ state: 'hidden' });
      expect(await mineOf(page)).toEqual([]);
    });
  });

  test('drops what has expired once the server says so, whatever the clock of the browser says', async () => {
    await visitSpoilt('/', async (page) => {
      await uploadOne(page, file('short.png'));
      const over = { expires_at: '2020-01-01 00:00:00', protected: true };
      await changeMine(page, await onlyMine(page), over);
      const checked = page.waitForResponse((answer) => answer.request().method() === 'HEAD');
      await page.reload();
      expect((await checked).status()).toBe(200);
      await page.getByRole('button', { name: 'Delete short.png' }).waitFor();
      const { id, delete_token } = await onlyMine(page);
      await fetch(`${server.url}/api/delete/${id}?token=${delete_token}`, { method: 'DELETE' });
      await page.reload();
      await page.locator('#mine').waitFor({ state: 'hidden' });
      expect(await mineOf(page)).toEqual([]);
    });
  });

  test('keeps the token of what only a server with a wrong clock says has expired', async () => {
    await visitSpoilt('/', async (page) => {
      await uploadOne(page, file('later.png'));
      const later = { expires_at: '2999-01-01 00:00:00', protected: true };
      await changeMine(page, await onlyMine(page), later);
      await page.route('**/i/*', (route) =>
        route.request().method() === 'HEAD' ? route.fulfill({ status: 410 }) : route.continue(),
      );
      await page.reload();
      await page.locator('#mine').getByText('Not found on the server').waitFor();
      expect(await mineOf(page)).toMatchObject([{ missing: true }]);
      await page.unroute('**/i/*');
      await page.reload();
      await page.getByRole('button', { name: 'Delete later.png' }).waitFor();
      expect((await onlyMine(page)).delete_token).not.toBe('');
    });
  });

  test('keeps what waits for review, with its token, and says so', async () => {
    const scanner = startScanner();
    const reviewed = await startServer('bun', {
      ...SITE,
      ...SETTINGS,
      ADMIN_TOKEN: 'an-administrator-token',
      IMAGE_SCAN_URL: `http://127.0.0.1:${scanner.port}/`,
      IMAGE_SCAN_SECRET: 'a-secret-of-the-scanner',
    });
    const visitReviewed = visitBy(() => reviewed.url);
    try {
      await visitReviewed(
        '/',
        async (page) => {
          await choose(page, file('review.png'));
          await page.getByRole('heading', { name: 'Your picture is waiting for review' }).waitFor();
          const checked = page.waitForResponse((answer) => answer.request().method() === 'HEAD');
          await page.reload();
          expect((await checked).status()).toBe(404);
          await page.locator('#mine').getByText('Waiting for review').waitFor();
          const { id, delete_token } = await onlyMine(page);
          expect(delete_token).toBeString();
          const headers = { authorization: 'Bearer an-administrator-token' };
          const allowed = asJson('POST', { id, verdict: 'allow' }, headers);
          const decided = await fetch(`${reviewed.url}/api/admin/reviews`, allowed);
          expect(decided.status).toBe(200);
          await page.reload();
          await page.locator('#mine').getByText('Waiting for review').waitFor({ state: 'hidden' });
          expect(await mineOf(page)).toEqual([expect.not.objectContaining({ review: true })]);
          await page.getByRole('button', { name: 'Delete review.png' }).waitFor();
        },
        { expected: SPOILT },
      );
    } finally {
      await reviewed.stop();
      await scanner.stop(true);
    }
  });
});

test('without scripts a picture is uploaded, and its delete link is shown once', async () => {
  await visit(
    '/',
    async (page) => {
      await page.setInputFiles('#file', file('plain.png'));
      await page.getByRole('button', { name: 'Upload' }).click();
      const link = page.getByRole('heading', { name: 'plain.png' }).getByRole('link');
      await link.waitFor();
      // What needs a script is hidden by the style.
      await page.waitForLoadState();
      expect(await page.locator('#delete-0').inputValue()).toMatch(/\/i\/\w{12}\/delete\?token=\w{32}$/);
      expect(await page.locator('.needs-script:visible').count()).toBe(0);
      await link.click();
      await page.getByRole('heading', { name: 'plain.png', level: 1 }).waitFor();
    },
    { javaScriptEnabled: false },
  );
});

test('uploads look right at every width, in light and in dark', async () => {
  await visit(
    '/',
    async (page) => {
      await uploadOne(page, file('look.png'));
      await checkLooks(page, { painted: false });
      await choose(
        page,
        ...['p', 'q', 'r'].map((name) => file(`${name}.png`)),
        file('no.png', Buffer.from('x')),
      );
      await page.getByRole('heading', { name: '4 of 5 uploaded' }).waitFor();
      await checkLooks(page, { painted: false });
    },
    { viewport: { width: 390, height: 900 }, expected: SPOILT },
  );
});

test('the whole flow is in Chinese where the browser asks for it', async () => {
  await visit(
    '/',
    async (page) => {
      await choose(page, file('zh.png'), file('zh-no.png', Buffer.alloc(0)));
      await cardOf(page, 'zh.png').getByText('复制链接').waitFor();
      await cardOf(page, 'zh-no.png').getByText('此文件是空的。').waitFor();
      const english = page.locator('#uploader').getByText(/[A-Za-z]{2,} [a-z]{2,}/);
      expect(await english.filter({ visible: true }).allTextContents()).toEqual([]);
    },
    { locale: 'zh-CN' },
  );
});

test('the home page can be installed as an app', async () => {
  await visitSpoilt('/', async (page) => {
    const session = await page.context().newCDPSession(page);
    const manifest = await session.send('Page.getAppManifest');
    expect([manifest.url, manifest.errors]).toEqual([`${server.url}/manifest.webmanifest`, []]);
    const { icons } = JSON.parse(manifest.data ?? '') as { icons: { src: string; sizes: string }[] };
    for (const { src, sizes } of icons) {
      const { width, height } = await sharp(await (await fetch(server.url + src)).arrayBuffer()).metadata();
      expect(`${width}x${height}`).toBe(sizes);
    }
    const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
    expect(installabilityErrors).toEqual([]);
  });
});
