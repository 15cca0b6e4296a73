import { describe, expect, test } from 'bun:test';
import { createCipheriv, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Locator, Page, Route } from 'playwright-core';
import sharp from 'sharp';
import { privatePhoto, quarters } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';
import { CLIPBOARD, cardOf, changeMine, clipboard, type Kept, mineOf, waitForMine } from './kept.ts';
import { startSite } from './site.ts';

/** What Chromium writes about answers that say that a picture is gone, or was asked for when a page was left. */
const GONE = /status of 4\d\d|net::ERR_/;
/** How long a deletion can be undone. */
const UNDO_MS = 8000;

const server = startSite();
const picture = await quarters(900, 600).png().toBuffer();
const { visit } = server;

const file = (name: string, buffer: Buffer = picture) => ({ name, mimeType: 'image/png', buffer });
const named = (count: number) => Array.from({ length: count }, (_, index) => file(`p${index}.png`));

/** Where the knob of a switch is drawn, in a system's own colours. */
async function knobOf(button: Locator): Promise<'left' | 'right' | 'nowhere'> {
  const picture = await button.screenshot();
  const lights = [10, 26].map(async (left) => {
    const half = sharp(picture).extract({ left, top: 8, width: 16, height: 16 }).greyscale();
    return (await half.raw().toBuffer()).reduce((sum, light) => sum + light, 0) / 256;
  });
  const [left = 0, right = 0] = await Promise.all(lights);
  if (Math.abs(left - right) < 50) return 'nowhere';
  return left > right ? 'left' : 'right';
}

async function upload(page: Page, ...files: ReturnType<typeof file>[]): Promise<void> {
  await page.setInputFiles('#file', files);
  await page
    .locator('.upload-card .copy-link')
    .nth(files.length - 1)
    .waitFor();
}

const info = async (id = '') => json<Record<string, unknown>>(await fetch(`${server.url}/api/info/${id}`));
const areThere = async (ids: readonly string[]) =>
  (await Promise.all(ids.map((id) => fetch(`${server.url}/i/${id}`)))).filter(({ ok }) => ok).length;
/** Opens a page whose clock stands until it is put forward. */
const visitTimed: typeof visit = (path, work, options) =>
  visit(
    path,
    async (page) => {
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 60_000);
      await work(page);
    },
    options,
  );
const deletions = (page: Page) => page.waitForResponse((answer) => answer.request().method() === 'DELETE');

describe('who sees a picture', () => {
  test('is anyone with the link, until a switch or the remembered choice says otherwise, also for the app', async () => {
    await visit('/', async (page) => {
      await upload(page, file('quiet.png'));
      const [{ id = '' } = {}] = await mineOf(page);
      expect((await info(id)).visibility).toBe('unlisted');
      const change = page.waitForResponse((answer) => answer.request().method() === 'PATCH');
      await page.getByRole('switch', { name: 'Show quiet.png in the gallery' }).click();
      await change;
      await cardOf(page, 'quiet.png').getByText('Everyone: it appears in the gallery').waitFor();
      expect((await info(id)).visibility).toBe('public');
      await page.emulateMedia({ forcedColors: 'active' });
      const switched = page.getByRole('switch');
      expect(await knobOf(switched)).toBe('right');
      await switched.evaluate((button) => button.setAttribute('aria-checked', 'false'));
      expect(await knobOf(switched)).toBe('left');

      const shared = async () => {
        const [{ value = '' } = {}] = (await page.context().cookies()).filter(({ name }) =>
          name.endsWith('audience'),
        );
        const { share_target: target } = await json<{
          share_target: { action: string; params: { files: [{ name: string }] } };
        }>(await fetch(`${server.url}/manifest.webmanifest`));
        const body = new FormData();
        body.set(target.params.files[0].name, new File([new Uint8Array(picture)], 'app.png'));
        // As the system of a telephone sends it.
        const asApp = { accept: 'text/html', origin: 'null', 'sec-fetch-site': 'none' };
        const headers = { ...asApp, cookie: `picpool_audience=${value}` };
        const answer = await fetch(server.url + target.action, { method: 'POST', headers, body });
        return (await info(/\/i\/(\w{12})"/.exec(await answer.text())?.[1])).visibility;
      };
      expect(await shared()).toBe('unlisted');
      const kept = page.waitForResponse('**/preferences');
      await page.getByLabel('Who can see it').selectOption('public');
      await kept;
      await page.reload();
      expect(await page.getByLabel('Who can see it').inputValue()).toBe('public');
      expect(await shared()).toBe('public');
    });
  });

  test('stays behind a password that another device has set since, whatever its card shows', async () => {
    await visit(
      '/',
      async (page) => {
        await upload(page, file('quiet.png'));
        const [{ id = '', delete_token: token = '' } = {}] = await mineOf(page);
        const change = asJson('PATCH', { password: 'tea' }, { 'x-delete-token': token });
        await fetch(`${server.url}/api/image/${id}`, change);
        const opened = await page.context().newPage();
        await opened.goto(`${server.url}/i/${id}`);
        await opened.getByLabel('Password').fill('tea');
        await opened.getByLabel('Password').press('Enter');
        await opened.locator('#picture-facts').waitFor();
        await page.route('**/api/info/*', (route) => route.abort(), { times: 1 });
        await page.getByRole('switch').click();
        await cardOf(page, 'quiet.png').getByText('The server cannot be reached').waitFor();
        await page.getByRole('switch').click();
        await cardOf(page, 'quiet.png').getByText('Anyone with the link and the password').waitFor();
        expect(await page.getByRole('switch').count()).toBe(0);
        expect((await fetch(`${server.url}/api/info/${id}`)).status).toBe(401);
        expect(await mineOf(page)).toMatchObject([{ protected: true, visibility: 'protected' }]);
      },
      { expected: GONE },
    );
  });

  test('learns where it was taken only if that was kept, which is said in red where everyone can', async () => {
    await visit('/', async (page) => {
      await page.getByLabel('Who can see it').selectOption('public');
      await page.getByText('More options').click();
      await page.getByLabel('Keep location').check();
      await upload(page, file('where.jpg', await privatePhoto('jpeg', 1, [1600, 900])));
      const words = cardOf(page, 'where.jpg').getByText('Location kept');
      const red = () => words.evaluate((one) => one.classList.contains('warned'));
      expect(await red()).toBe(true);
      await cardOf(page, 'where.jpg').getByRole('link', { name: 'where.jpg' }).click();
      await page.locator('.warned', { hasText: 'Everyone can see where it was taken' }).waitFor();
      await page.goBack();
    });
  });
});

describe('a picture of this browser', () => {
  test('is renamed, described, hidden, limited and deleted on its page, two actions each', async () => {
    await visit(
      '/',
      async (page) => {
        await upload(page, file('mine.png'));
        await page.reload();
        await page.getByRole('link', { name: 'Edit mine.png' }).click();
        const [{ id = '' } = {}] = await mineOf(page);
        const saved = () => page.locator('#edit').getByText('Saved.').waitFor();
        const save = async (act: () => Promise<unknown>) => {
          const sent = page.waitForResponse((answer) => answer.request().method() === 'PATCH');
          await act();
          await sent;
          await saved();
        };
        // The server has it, but the page is left before its answer.
        const { promise: isChanged, resolve: changed } = Promise.withResolvers<void>();
        await page.route('**/api/image/*', (route) => route.fetch().then(() => changed()), { times: 1 });
        await page.getByLabel('Title').fill('Left');
        await page.keyboard.press('Enter');
        await isChanged;
        await page.goto(server.url);
        await page.getByRole('link', { name: 'Edit Left' }).click();
        await save(async () => {
          await page.getByLabel('Title').fill('none');
          await page.keyboard.press('Enter');
        });
        await page.getByRole('heading', { name: 'none' }).waitFor();
        await save(async () => {
          await page.getByLabel('Title').fill('Harbour');
          await page.keyboard.press('Enter');
        });
        await page.getByRole('heading', { name: 'Harbour' }).waitFor();
        await save(async () => {
          await page.getByLabel('Alternative text').fill('Two "boats"');
          await page.keyboard.press('Tab');
        });
        await save(() => page.getByLabel('Who can see it').selectOption('public'));
        await page.locator('#picture-facts').getByText('Everyone').waitFor();
        await save(() => page.getByLabel('Expires after').selectOption('1w'));
        await page.locator('#picture-facts').getByText('in 7 days').waitFor();
        expect(await page.getByText('times in UTC').isVisible()).toBe(false);
        expect(await info(id)).toMatchObject({ title: 'Harbour', alt: 'Two "boats"', visibility: 'public' });
        await page.getByLabel('Who can see it').selectOption('protected');
        const sent = page.waitForResponse((answer) => answer.request().method() === 'PATCH');
        await page.getByLabel('Title').fill('Boats');
        await page.keyboard.press('Enter');
        await sent;
        await page.getByText('not protected until you enter a password').waitFor();
        await save(async () => {
          await page.locator('#edit-password').fill('tea');
          await page.keyboard.press('Enter');
        });
        expect((await fetch(`${server.url}/api/info/${id}`)).status).toBe(401);
        await page.locator('#picture-facts').getByText('Anyone with the password').waitFor();

        await page.getByRole('link', { name: 'Delete' }).click();
        await page.getByRole('button', { name: 'Undo' }).click();
        expect(await page.locator('.leaving').count()).toBe(0);
        await page.getByRole('link', { name: 'Delete' }).click();
        expect((await fetch(`${server.url}/i/${id}`)).status).toBe(401);
        await page.goto(`${server.url}/gallery`);
        while ((await fetch(`${server.url}/i/${id}`)).status !== 404) await Bun.sleep(50);
        // The token stays until the server has confirmed it.
        expect(await mineOf(page)).toHaveLength(1);
        await page.goto(server.url);
        await waitForMine(page, 0);
      },
      { expected: GONE },
    );
  });

  test('is deleted with nine others by three actions, all of which come back by one', async () => {
    await visitTimed(
      '/',
      async (page) => {
        await upload(page, ...named(10));
        const ids = (await mineOf(page)).map(({ id }) => id);
        const ticks = page.locator('#cards .tick');
        const deleteAll = async () => {
          await ticks.first().click();
          await ticks.last().click({ modifiers: ['Shift'] });
          await page.locator('#chosen-cards').getByRole('button', { name: 'Delete' }).click();
        };
        await deleteAll();
        await page.getByText('10 pictures deleted.', { exact: true }).waitFor();
        await page.keyboard.press('Control+z');
        await page.getByRole('heading', { name: '10 pictures are online' }).waitFor();
        expect(await areThere(ids)).toBe(10);

        await page.reload();
        const mine = page.locator('#mine-list .tick');
        await mine.first().click();
        await mine.last().click({ modifiers: ['Shift'] });
        const first = deletions(page);
        await page.locator('#chosen-mine').getByRole('button', { name: 'Delete' }).click();
        expect(await areThere(ids)).toBe(10);
        await page.clock.fastForward(UNDO_MS);
        await first;
        await waitForMine(page, 0);
        expect(await areThere(ids)).toBe(0);
      },
      { expected: GONE },
    );
  });

  test('comes back with one that was deleted later, whatever other page is open', async () => {
    await visitTimed('/', async (page) => {
      await upload(page, ...named(2));
      const ids = (await mineOf(page)).map(({ id }) => id);
      const other = await page.context().newPage();
      let asked = 0;
      other.on('request', (request) => {
        asked += Number(request.method() === 'HEAD');
      });
      await other.goto(server.url);
      while (asked < ids.length) await Bun.sleep(20);
      await page.getByRole('button', { name: 'Delete p0.png' }).click();
      await page.clock.fastForward(0.6 * UNDO_MS);
      await page.getByRole('button', { name: 'Delete p1.png' }).click();
      await page.clock.fastForward(0.6 * UNDO_MS);
      // The focus is on the field for files, where nothing is typed.
      await page.keyboard.press('Control+z');
      await page.getByRole('button', { name: 'Delete p1.png' }).waitFor();
      // Answered after what was asked before.
      await other.evaluate(() => fetch('/robots.txt').then(({ ok }) => ok));
      expect(await areThere(ids)).toBe(2);
      // Of what changes here, the other page asks the server nothing.
      expect(asked).toBe(ids.length);
    });
  });

  test('comes back by the last word about it, on whichever of two pages', async () => {
    await visitTimed('/', async (page) => {
      await upload(page, file('p0.png'));
      const [{ id = '' } = {}] = await mineOf(page);
      const other = await page.context().newPage();
      await other.goto(`${server.url}/i/${id}`);
      const deleteHere = page.getByRole('button', { name: 'Delete p0.png' });
      const deleteThere = other.getByRole('link', { name: 'Delete' });
      for (const last of [other, page]) {
        await deleteHere.click();
        await page.clock.fastForward(0.6 * UNDO_MS);
        await deleteThere.click();
        await page.clock.fastForward(last === other ? 0.6 * UNDO_MS : 1000);
        await last.getByRole('button', { name: 'Undo' }).click();
        await page.clock.fastForward(2 * UNDO_MS);
        await other.locator('.picture-page:not(.leaving)').waitFor();
        await deleteHere.waitFor();
        // Answered after what was asked before.
        for (const one of [page, other]) await one.evaluate(() => fetch('/robots.txt').then(({ ok }) => ok));
        expect(await areThere([id])).toBe(1);
      }
      await deleteHere.click();
      await deleteThere.click();
      await deleteThere.waitFor();
      await page.clock.fastForward(1000);
      await page.getByRole('button', { name: 'Undo' }).click();
      await other.goto(`${server.url}/gallery`);
      await other.evaluate(() => fetch('/robots.txt').then(({ ok }) => ok));
      expect(await areThere([id])).toBe(1);
    });
  });

  test('is deleted while another is looked at, which stays', async () => {
    await visit(
      '/',
      async (page) => {
        await upload(page, ...named(2));
        const mine = await mineOf(page);
        const [deleted, kept] = ['p0.png', 'p1.png'].map((name) =>
          mine.find(({ filename }) => filename === name),
        );
        await page.getByRole('button', { name: 'Delete p0.png' }).click();
        await page.goto(`${server.url}/i/${kept?.id}`);
        await waitForMine(page, 1);
        expect((await mineOf(page)).map(({ id }) => id)).not.toContain(deleted?.id);
        await page.getByText('Edit', { exact: true }).waitFor();
        expect(page.url()).toBe(`${server.url}/i/${kept?.id}`);
      },
      { expected: GONE },
    );
  });

  test('is deleted even if the page is left in the midst, or its browser died, or its clock was ahead', async () => {
    await visitTimed(
      '/',
      async (page) => {
        await upload(page, ...named(8));
        const ids = (await mineOf(page)).map(({ id }) => id);
        let asked = 0;
        await page.route('**/api/delete/*', async (route) => {
          if (++asked > 2) await new Promise(() => {});
          await route.continue();
        });
        await page.locator('#cards .tick').first().click();
        await page
          .locator('#cards .tick')
          .last()
          .click({ modifiers: ['Shift'] });
        await page.locator('#chosen-cards').getByRole('button', { name: 'Delete' }).click();
        await page.clock.fastForward(UNDO_MS);
        await waitForMine(page, 6);
        await page.unroute('**/api/delete/*');
        await page.goto('about:blank');
        while ((await areThere(ids)) > 0) await Bun.sleep(50);

        for (const ms of [4000, 9e9]) {
          await page.goto(server.url);
          await upload(page, file('late.png'));
          const [late] = await mineOf(page);
          if (!late) throw new Error('the browser has kept nothing');
          await changeMine(page, late, { deleting: (await page.evaluate(() => Date.now())) + ms });
          await page.reload();
          await page.clock.fastForward(UNDO_MS);
          await waitForMine(page, 0);
          expect(await areThere([late.id])).toBe(0);
        }
      },
      { expected: GONE },
    );
  });

  test('is forgotten or changed by a word of this server alone, and comes back with its reason', async () => {
    await visitTimed(
      '/',
      async (page) => {
        await upload(page, ...named(2));
        const page404 = { status: 404, contentType: 'text/html', body: '<h1>Log in</h1>' };
        const refusal = { success: false, code: 'forbidden', error: 'It must stay.' };
        const answers: Parameters<Route['fulfill']>[0][] = [page404, { status: 403, json: refusal }];
        await page.route(/\/api\/(delete|image)\//, (route) =>
          route.fulfill(answers.shift() ?? { ...page404, status: 200 }),
        );
        await page.getByRole('button', { name: 'Delete p0.png' }).click();
        await page.getByRole('button', { name: 'Delete p1.png' }).click();
        await page.clock.fastForward(UNDO_MS);
        await page.locator('.upload-card .fault').nth(1).waitFor();
        await cardOf(page, 'p1.png').getByText('It must stay.').waitFor();
        const mine = await mineOf(page);
        expect(mine).toHaveLength(2);

        await page.goto(`${server.url}/i/${mine[0]?.id}#edit`);
        await page.getByLabel('Who can see it').selectOption('public');
        await page.locator('#edit .warned').waitFor();
        expect(await page.getByLabel('Who can see it').inputValue()).toBe('unlisted');
        expect(await mineOf(page)).toEqual(mine);
      },
      { expected: GONE },
    );
  });
});

test('a picture is shared in the same way on its card, its page and in the gallery', async () => {
  await visit(
    '/',
    async (page) => {
      await page.getByLabel('Who can see it').selectOption('public');
      await upload(page, file('a "b" [c].png'));
      await page.locator('.upload-card').getByLabel('What to copy').selectOption('Linked thumbnail (BBCode)');
      const copied = async (place: string) => {
        await page.locator(`${place} .copy-link`).click();
        await page.locator(`${place} .copy-link.done`).waitFor();
        return clipboard(page);
      };
      const url = (await page.locator('a.upload-name').getAttribute('href')) ?? '';
      const expected = `[url=${url}][img]${url}.webp?w=640[/img][/url]`;
      expect(await copied('.upload-card')).toBe(expected);
      await page.locator('a.upload-name').click();
      await page.getByRole('heading', { name: 'a "b" [c].png' }).waitFor();
      expect(await copied('#picture-share')).toBe(expected);
      await page.goto(`${server.url}/gallery`);
      const share = page.getByRole('button', { name: 'Share a "b" [c].png' });
      await share.click();
      await page.locator('.popup .copy-link:focus').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('.popup').waitFor({ state: 'detached' });
      expect(await share.evaluate((button) => button === document.activeElement)).toBe(true);
      await share.click();
      expect(await copied('.popup')).toBe(expected);
      await page.getByLabel('What to copy').selectOption('Linked thumbnail (HTML)');
      await page.locator('.popup .done').waitFor({ state: 'detached' });
      const alt = 'a &quot;b&quot; [c].png';
      expect(await copied('.popup')).toBe(`<a href="${url}"><img src="${url}.webp?w=640" alt="${alt}"></a>`);
      await page.getByLabel('What to copy').selectOption('Linked thumbnail (Markdown)');
      await page.locator('.popup .done').waitFor({ state: 'detached' });
      expect(await copied('.popup')).toBe(`[![a "b" \\[c\\].png](${url}.webp?w=640)](${url})`);
      await page.keyboard.press('Escape');
      await page.locator('.popup').waitFor({ state: 'detached' });
      const [{ id = '', delete_token: token = '' } = {}] = await mineOf(page);
      const change = asJson('PATCH', { password: 'tea' }, { 'x-delete-token': token });
      await fetch(`${server.url}/api/image/${id}`, change);
      await share.click();
      await page.locator('.popup').getByText('This image needs a password.').waitFor();
    },
    { ...CLIPBOARD, expected: /status of 401/ },
  );
});

describe('the list of this browser', () => {
  test('comes to another device by a link that works once, and whose key no server sees', async () => {
    await visit(
      '/',
      async (page) => {
        await upload(page, ...named(3));
        const mine = await mineOf(page);
        await page.getByText('My pictures on another device').click();
        const sent = page.waitForRequest('**/api/handovers');
        await page.getByRole('button', { name: 'Make a link for 10 minutes' }).click();
        const body = (await sent).postData() ?? '';
        expect(body).toMatch(/^[\w-]{100,}$/);
        expect(Buffer.from(body, 'base64url').includes(mine[0]?.delete_token ?? '-')).toBe(false);
        const link = (await page.locator('#lists-result .share-text').textContent()) ?? '';

        const asked: string[] = [];
        const other = await server.browser.visit(server.url);
        other.page.on('request', (request) => asked.push(request.url()));
        const open = async () => {
          await other.page.goto(link);
          await other.page.reload();
          await other.page.goto('about:blank');
          await other.page.goto(link);
          await other.page.getByRole('button', { name: 'Add them here' }).click();
        };
        const login = { status: 404, body: '<h1>Log in</h1>' };
        await other.page.route('**/api/handovers/*', (route) => route.fulfill(login), { times: 1 });
        await open();
        await other.page.locator('#lists-result .fault').waitFor();
        await other.page.getByRole('button', { name: 'Add them here' }).click();
        await other.page.getByText('3 entries were added.').first().waitFor();
        expect(new URL(other.page.url()).hash).toBe('');
        const tokens = (list: Kept[]) => list.map(({ delete_token }) => delete_token);
        expect(tokens(await mineOf(other.page))).toEqual(tokens(mine));
        await other.page.getByRole('link', { name: 'Edit p0.png' }).waitFor();
        await open();
        await other.page.getByText('This link has been used').first().waitFor();
        const key = link.split('.').at(-1) ?? '-';
        expect(asked.filter((url) => url.includes(key) && !url.includes('#'))).toEqual([]);
        await other.close();
      },
      { expected: GONE },
    );
  });

  test('comes from a link only if it is no larger than a list', async () => {
    const key = randomBytes(32);
    const sealedList = async (spaces: number) => {
      const pictures = [{ id: 'a'.repeat(12), delete_token: 't'.repeat(32), filename: 'x' }];
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const list = cipher.update(gzipSync(JSON.stringify({ pictures }) + ' '.repeat(spaces)));
      const sealed = Buffer.concat([iv, list, cipher.final(), cipher.getAuthTag()]);
      const body = sealed.toString('base64url');
      const { id } = await json<{ id: string }>(
        await fetch(`${server.url}/api/handovers`, { method: 'POST', body }),
      );
      return `/#move=${id}.${key.toString('base64url')}`;
    };
    for (const [spaces, words] of [
      [0, '1 entry was added.'],
      [20e6, 'Nothing was added.'],
    ] as const) {
      await visit(
        await sealedList(spaces),
        async (page) => {
          await page.getByRole('button', { name: 'Add them here' }).click();
          await page.getByText(words).first().waitFor();
        },
        { expected: GONE },
      );
    }
  });

  test('is saved as a file and read again, and nothing of another file is taken', async () => {
    await visit('/', async (page) => {
      await upload(page, ...named(2));
      await page.getByText('My pictures on another device').click();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save as file' }).click();
      const saved = await readFile(await (await download).path());
      const list = JSON.parse(saved.toString());
      const read = async (buffer: Buffer) => {
        // A visitor cannot choose a file before that.
        await page.locator('#list-actions:not([inert])').waitFor();
        await page.setInputFiles('#list-file', { name: 'list.json', mimeType: 'application/json', buffer });
      };
      await read(saved);
      await page.getByText('Everything in this list is already here.').first().waitFor();
      const odd = { ...list.pictures[0], id: 'b'.repeat(12), filename: { toString: 1 } };
      await read(Buffer.from(JSON.stringify({ pictures: [odd] })));
      await page.getByText('Nothing was added.').first().waitFor();
      await page.evaluate(() => localStorage.clear());
      await page.reload();
      await page.getByText('My pictures on another device').click();
      const hostile = { ...list.pictures[0], url: 'javascript:alert(1)', delete_token: 'x' };
      await read(Buffer.from(JSON.stringify({ pictures: [list.pictures[1], hostile] })));
      await page.getByText('Nothing was added.').first().waitFor();
      expect(await mineOf(page)).toEqual([]);
      list.pictures[0].url = 'javascript:alert(1)';
      await read(Buffer.from(JSON.stringify(list)));
      await page.getByText('2 entries were added.').first().waitFor();
      const [href] = await page
        .locator('#mine-list > li > a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      expect(href).toBe(`${server.url}/i/${list.pictures[0].id}`);
      const albums = [{ id: 'a'.repeat(12), token: 't'.repeat(32), made: 1e300 }];
      await read(Buffer.from(JSON.stringify({ albums })));
      await page.getByText('1 entry was added.').first().waitFor();
      await page.reload();
      await upload(page, file('after.png'));
    });
  });
});

test('failures come first, each reason once, and 60 pictures leave the way to more in sight', async () => {
  await visit(
    '/',
    async (page) => {
      const empty = ['x.png', 'y.png', 'z.png'].map((name) => file(name, Buffer.alloc(0)));
      await page.setInputFiles('#file', [...named(57), ...empty]);
      await page.getByRole('heading', { name: '57 of 60 uploaded' }).waitFor();
      expect(await page.locator('#failures > li').count()).toBe(1);
      expect(await page.locator('#failures').textContent()).toContain('x.png, y.png, z.png');
      const top = async (place: string) => (await page.locator(place).boundingBox())?.y ?? -1;
      expect(await top('#failures')).toBeLessThan(await top('#cards'));
      await page.locator('#failures').getByRole('button', { name: 'Dismiss' }).click();
      await page.getByRole('heading', { name: '57 pictures are online' }).waitFor();
      await page.locator('#cards > li').nth(40).scrollIntoViewIfNeeded();
      const y = await top('#add-more');
      expect(y).toBeGreaterThanOrEqual(0);
      expect(y).toBeLessThan(120);
      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Add more' }).click();
      await chooser;
    },
    { expected: GONE },
  );
});
