import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { cardOf, changeMine, fillStorage, makeAlbum as makeAlbumOf, mineOf, waitForMine } from './kept.ts';
import { startSite } from './site.ts';
import { overflowOf, uploadOne } from './visitor.ts';

const server = startSite();
const picture = await quarters(300, 200).png().toBuffer();
const { visit } = server;

/** What Chromium writes about answers that a test spoils on purpose. */
const SPOILT = /status of (4|5)\d\d|net::ERR_/;
const visitSpoilt = (path: string, work: (page: Page) => Promise<void>) =>
  visit(path, work, { expected: SPOILT });

const file = (name: string) => ({ name, mimeType: 'image/png', buffer: picture });
const choose = (page: Page, ...names: string[]) => page.setInputFiles('#file', names.map(file));

const makeAlbum = async (page: Page, title = '') =>
  `${server.url}/a/${await makeAlbumOf(page, title, ['one.png', 'two.png'].map(file))}`;

describe('what a browser keeps', () => {
  test('loses no token while two pages write at once', async () => {
    await visit('/', async (page) => {
      const other = await page.context().newPage();
      await other.goto(server.url);
      const write = (where: Page, tag: string) =>
        where.evaluate(async (tag) => {
          const [script] = document.querySelectorAll<HTMLScriptElement>('script[src$="/upload.js"]');
          const { addMine } = await import(script?.src.replace('upload.js', 'mine.js') ?? '');
          for (let number = 0; number < 50; number++) {
            addMine({ id: `${tag}${number}`, filename: tag, url: '/', raw_url: '/', delete_token: tag });
            await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
          }
        }, tag);
      await Promise.all([write(page, 'a'), write(other, 'b')]);
      await waitForMine(page, 100);
    });
  });

  test('is taken over from the one list of earlier versions, in its order', async () => {
    await visit('/', async (page) => {
      await page.evaluate(() => {
        const list = ['new', 'old'].map((id) => ({ id, filename: id, url: '/', protected: true }));
        localStorage.setItem('picpool:mine', JSON.stringify(list));
      });
      await page.goto(`${server.url}/gallery`);
      await page.goto(server.url);
      expect((await mineOf(page)).map(({ id }) => id)).toEqual(['new', 'old']);
      expect(await page.evaluate(() => localStorage.getItem('picpool:mine'))).toBeNull();
    });
  });

  test('may be nothing: pages work in a browser that refuses to keep anything', async () => {
    await visit('/', async (page) => {
      await page.context().addInitScript(() => {
        for (const area of ['localStorage', 'sessionStorage'])
          Object.defineProperty(globalThis, area, {
            get() {
              throw new DOMException('Access is denied for this document.', 'SecurityError');
            },
          });
      });
      await page.reload();
      await uploadOne(page, file('refused.png'));
      await cardOf(page, 'refused.png').getByText('This browser has no room for the delete token.').waitFor();
      const link = await cardOf(page, 'refused.png').locator('a').first().getAttribute('href');
      for (const [path, part] of [
        [link ?? '', '.share-row'],
        [`${server.url}/gallery`, '#results'],
        [`${server.url}/proxies`, '#list'],
        [`${server.url}/integrations`, '.integrations'],
      ] as const) {
        await page.goto(path);
        await page.locator(part).waitFor();
      }
    });
  });

  test('says the link that deletes a picture until the page is left, if there is no room for it', async () => {
    await visit('/', async (page) => {
      await fillStorage(page);
      await choose(page, 'full.png');
      const card = cardOf(page, 'full.png');
      await card.getByText(/Save this link to delete/).waitFor();
      await card.getByRole('switch').click();
      await card.getByText('Everyone: it appears in the gallery').waitFor();
      expect(await card.getByText(/delete\?token=\w{32}/).isVisible()).toBe(true);
    });
  });

  test('shows a link for guests even if there is no room for it', async () => {
    await visit('/', async (page) => {
      await page.goto(await makeAlbum(page));
      await page.getByRole('button', { name: 'Edit album' }).click();
      await page.getByRole('textbox', { name: 'Title' }).waitFor();
      await fillStorage(page);
      await page.getByRole('button', { name: 'Invite guests' }).click();
      await page.getByRole('button', { name: 'Copy link for guests' }).waitFor();
      await page
        .locator('#album-note')
        .getByText(/no room for the link/)
        .waitFor();
    });
  });
});

test('a long word as the title of an album, or as a search, makes no page wider than a telephone', async () => {
  await visit(
    '/',
    async (page) => {
      await makeAlbum(page, 'W'.repeat(200));
      expect(await overflowOf(page)).toBe(0);
      await page.goto(`${server.url}/gallery?q=${'W'.repeat(100)}`);
      expect(await overflowOf(page)).toBe(0);
    },
    { viewport: { width: 320, height: 640 } },
  );
});

test('a list that moves to another device takes the links for guests along', async () => {
  await visit('/', async (page) => {
    const album = await makeAlbum(page);
    await page.goto(album);
    await page.getByRole('button', { name: 'Edit album' }).click();
    await page.getByRole('button', { name: 'Invite guests' }).click();
    const copy = page.getByRole('button', { name: 'Copy link for guests' });
    const link = await copy.getAttribute('data-copy');
    await page.goto(server.url);
    await page.getByText('My pictures on another device').click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as file' }).click();
    const list = await (await download).path();
    await page.evaluate(() => localStorage.clear());
    await page.setInputFiles('#list-file', list);
    await page.getByText('3 entries were added.').first().waitFor();
    await page.goto(album);
    await page.getByRole('button', { name: 'Edit album' }).click();
    expect(await copy.getAttribute('data-copy')).toBe(link ?? '');
  });
});

describe('an upload', () => {
  test('fails if something between answers with a page of its own, and lets the others go on', async () => {
    await visit('/', async (page) => {
      await page.route('**/api/upload', (route) => {
        const isFirst = route.request().postData()?.includes('"login.png"');
        return isFirst
          ? route.fulfill({ contentType: 'text/html', body: '<h1>Log in</h1>' })
          : route.continue();
      });
      await choose(page, 'login.png', 'a.png', 'b.png');
      await page.getByRole('heading', { name: '2 of 3 uploaded' }).waitFor();
      await page.locator('#failures').getByText('login.png').waitFor();
      await page.unroute('**/api/upload');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: '3 pictures are online' }).waitFor();
    });
  });

  test('begins with what was chosen before a slow connection had brought the script', async () => {
    await visit('/', async (page) => {
      const { promise: chosen, resolve } = Promise.withResolvers<void>();
      await page.route('**/upload.js', (route) => chosen.then(() => route.continue()));
      await page.reload({ waitUntil: 'commit' });
      await choose(page, 'early.png');
      resolve();
      await page.getByRole('heading', { name: 'Your picture is online' }).waitFor();
    });
  });
});

test('a deletion that the next page cannot finish at once either is finished by it later', async () => {
  await visitSpoilt('/', async (page) => {
    await uploadOne(page, file('lost.png'));
    const [mine] = await mineOf(page);
    if (!mine) throw new Error('the browser has kept nothing');
    await changeMine(page, mine, { deleting: 1 });
    await page.route('**/api/delete/*', (route) => route.abort());
    const asked = page.waitForEvent('requestfailed');
    await page.clock.install();
    await page.reload();
    await asked;
    // Answered after what was asked before.
    await page.evaluate(() => fetch('/robots.txt').then(({ ok }) => ok));
    await page.unroute('**/api/delete/*');
    await page.clock.fastForward(10_000);
    await waitForMine(page, 0);
    expect((await fetch(`${server.url}/i/${mine.id}`)).status).toBe(404);
  });
});

test('a page with more deletions than a server takes at once is not left without a question', async () => {
  await visit('/', async (page) => {
    await page.mouse.click(5, 5);
    await page.evaluate(async () => {
      const [script] = document.querySelectorAll<HTMLScriptElement>('script[src$="/upload.js"]');
      const { deleteSoon } = await import(script?.src.replace('upload.js', 'undo.js') ?? '');
      deleteSoon(Array.from({ length: 101 }, (_, number) => ({ id: `${number}`, url: '/i/0' })));
    });
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    await (await asked).dismiss();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.close({ runBeforeUnload: true });
    await page.waitForEvent('close');
  });
});

test('an album says why it cannot be edited', async () => {
  await visitSpoilt('/', async (page) => {
    await page.goto(await makeAlbum(page));
    await page.route('**/api/albums/**', (route) => route.abort());
    await page.getByRole('button', { name: 'Edit album' }).click();
    await page.locator('main').getByText('The server cannot be reached.').waitFor();
  });
});

test('several pictures from a form belong to the browser like one', async () => {
  await visit('/gallery', async (page) => {
    await page.setInputFiles('form[data-paste] input', ['shared.png', 'too.png'].map(file));
    await page.locator('form[data-paste]').evaluate((form: HTMLFormElement) => form.submit());
    await page.getByRole('heading', { name: '2 pictures' }).waitFor();
    await waitForMine(page, 2);
    await page.goto(server.url);
    await page.getByRole('button', { name: 'Delete shared.png' }).waitFor();
  });
});

test('changes of a picture are saved even after the network was cut between two steps of one', async () => {
  await visitSpoilt('/', async (page) => {
    await page.goto(await makeAlbum(page));
    await page.locator('.tile').first().click();
    await page.getByText('Edit', { exact: true }).click();
    await page.route('**/i/*', (route) =>
      route.request().method() === 'POST' ? route.abort() : route.continue(),
    );
    await page.getByLabel('Who can see it').selectOption('protected');
    await page.getByLabel('Password', { exact: true }).fill('secret');
    const failed = page.waitForEvent('requestfailed');
    await page.keyboard.press('Enter');
    await failed;
    const saved = page.waitForResponse((answer) => answer.request().method() === 'PATCH');
    await page.getByLabel('Title').fill('Harbour');
    await page.keyboard.press('Enter');
    expect((await saved).status()).toBe(200);
    await page.unroute('**/i/*');
    await page.getByLabel('Password', { exact: true }).fill('another');
    await page.keyboard.press('Enter');
    await page.locator('#picture-facts').getByText('Anyone with the password').waitFor();
  });
});

test('changes that wait for one before them are not lost when the page is left', async () => {
  await visitSpoilt('/', async (page) => {
    const album = await makeAlbum(page);
    const api = album.replace('/a/', '/api/albums/');
    await page.goto(album);
    await page.getByRole('button', { name: 'Edit album' }).click();
    await page.locator('.grip').first().press('ArrowRight');
    await page.getByLabel('Title').fill('Trip');
    await page.keyboard.press('Tab');
    await page.goto(album);
    while ((await json<{ title: string }>(await fetch(api))).title !== 'Trip') await Bun.sleep(50);
    const { images } = await json<{ images: { filename: string }[] }>(await fetch(api));
    expect(images.map(({ filename }) => filename)).toEqual(['two.png', 'one.png']);

    await page.locator('.tile').first().click();
    await page.getByText('Edit', { exact: true }).click();
    await page.route('**/api/image/*', () => {}, { times: 1 });
    const sent = () => page.waitForRequest((request) => request.method() === 'PATCH');
    const first = sent();
    await page.getByLabel('Title').fill('Harbour');
    await page.keyboard.press('Tab');
    await first;
    await page.getByLabel('Alternative text').fill('Boats');
    await page.keyboard.press('Tab');
    const second = sent();
    // As a browser does that keeps the page for its Back button, in which nothing goes on. This one keeps none.
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })));
    expect((await second).postDataJSON()).toEqual({ alt: 'Boats' });
  });
});

test('an album that another page has made is listed at once', async () => {
  await visit('/', async (page) => {
    const other = await page.context().newPage();
    await other.goto(server.url);
    await makeAlbum(page, 'Trip');
    await other.getByRole('link', { name: 'Trip' }).waitFor();
  });
});

test('the page of a picture that was deleted elsewhere is not shown by the Back button', async () => {
  await visit('/', async (page) => {
    await uploadOne(page, file('gone.png'));
    await page.locator('a.upload-name').click();
    await page.getByText('Edit', { exact: true }).waitFor();
    const reloaded = page.waitForEvent('load');
    // As a browser does that has kept the page.
    await page.evaluate(() => {
      localStorage.clear();
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    });
    await reloaded;
  });
});

test('a picture that was deleted is on no page that stays or comes back', async () => {
  await visit('/', async (page) => {
    await page.getByLabel('Who can see it').selectOption('public');
    await uploadOne(page, file('shown.png'));
    const [mine] = await mineOf(page);
    const tile = page.locator(`:is(.tile, .shot)[href$="/i/${mine?.id}"]`);
    await page.reload();
    await page.getByRole('button', { name: 'Delete shown.png' }).click();
    await tile.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await tile.waitFor();
    await page.goto(`${server.url}/gallery`);
    await tile.click();
    await page.getByRole('link', { name: 'Delete' }).click();
    await page.goBack();
    await page.getByRole('heading', { name: 'Gallery' }).waitFor();
    await tile.waitFor({ state: 'hidden' });
    expect(await tile.count()).toBe(1);
  });
});

test('the card of a picture follows another page, whatever becomes of the answers, and no switch takes the password away', async () => {
  await visitSpoilt('/', async (page) => {
    await uploadOne(page, file('card.png'));
    const seenBy = (text: string) => page.locator('.seen-by').getByText(text).waitFor();
    const change = '**/api/image/*';
    const lost = { times: 1 };
    await page.getByRole('switch').click();
    await seenBy('Everyone');
    await page.route(change, (route) => route.abort(), lost);
    await page.getByRole('switch').click();
    await page.locator('#cards .fault').waitFor();
    const other = await page.context().newPage();
    await other.goto(`${(await page.locator('a.upload-name').getAttribute('href')) ?? ''}#edit`);
    await other.getByLabel('Title').fill('Harbour');
    await other.keyboard.press('Enter');
    await page.locator('#cards').getByRole('link', { name: 'Harbour' }).waitFor();
    await page.getByRole('button', { name: 'Delete Harbour' }).waitFor();
    expect(await page.locator('#cards .fault').isVisible()).toBe(true);
    const audience = other.getByLabel('Who can see it');
    await audience.selectOption('protected');
    const protect = async (password: string) => {
      await other.locator('#edit-password').fill(password);
      await other.keyboard.press('Enter');
      await seenBy('the password');
    };
    await other.route(change, (route) => route.abort(), lost);
    await protect('refused');
    await seenBy('Everyone');
    await other.route(change, (route) => route.fetch().then(() => route.abort()), lost);
    const asked = other.waitForResponse((answer) => answer.status() === 401);
    await protect('unanswered');
    await asked;
    expect(await page.getByRole('switch').isVisible()).toBe(false);
    await audience.selectOption('public');
    await seenBy('Everyone');
    const { promise: isChanged, resolve: changed } = Promise.withResolvers<void>();
    await other.route(change, (route) => route.fetch().then(() => changed()));
    await audience.selectOption('protected');
    await isChanged;
    await other.close();
    await seenBy('the password');
    expect(await page.getByRole('switch').isVisible()).toBe(false);
  });
});

test('a list that another page changes keeps what is chosen in it, and where the keyboard is', async () => {
  await visit('/', async (page) => {
    await uploadOne(page, file('chosen.png'));
    await page.evaluate(() => localStorage.setItem('picpool:mine:odd', '{"id":"odd","raw_url":"http://["}'));
    await page.reload();
    await page.locator('#mine').getByRole('checkbox', { name: 'Select chosen.png' }).check();
    const other = await page.context().newPage();
    await other.goto(server.url);
    await choose(other, 'other.png');
    await page.locator('#mine').getByText('other.png').waitFor();
    const tick = page.locator('#mine').getByRole('checkbox', { name: 'Select chosen.png' });
    expect(await tick.isChecked()).toBe(true);
    expect(await tick.evaluate((box) => box === document.activeElement)).toBe(true);
    const kept = (await mineOf(page)).find(({ filename }) => filename === 'other.png');
    await page.getByRole('button', { name: 'Delete chosen.png' }).click();
    // An upload may take longer than what is deleted can be undone.
    if (kept) await changeMine(other, kept, { filename: 'third.png' });
    await page.locator('#mine').getByText('third.png').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Delete chosen.png' }).waitFor();
  });
});

test('the gallery says once that the server is away, and not after it is back', async () => {
  await visitSpoilt('/gallery', async (page) => {
    const field = page.getByRole('searchbox');
    await page.route('**/gallery?q=a', (route) => route.abort());
    await page.route('**/gallery?q=ab', (route) => route.fulfill({ body: '<h1>Log in</h1>' }));
    for (const text of ['a', 'ab']) {
      const asked = page.waitForRequest(`**/gallery?q=${text}`);
      await field.fill(text);
      await asked;
      await page.locator('#results:not([aria-busy])').waitFor();
      expect(await page.locator('#results .banner').count()).toBe(1);
    }
    await field.fill('abc');
    await page.locator('#results .banner').waitFor({ state: 'detached' });
  });
});

test('times are right in a browser whose clock is days behind', async () => {
  await visit('/', async (page) => {
    await page.clock.setFixedTime(Date.now() - 3 * 86_400_000);
    await page.getByLabel('Expires').selectOption('1d');
    await uploadOne(page, file('late.png'));
    await cardOf(page, 'late.png').getByText('expires in 1 day').waitFor();
    await page.clock.setFixedTime(Date.now() - 3 * 86_400_000 + 20 * 3_600_000);
    await page.getByRole('switch').click();
    await cardOf(page, 'late.png').getByText('expires in 4 hours').waitFor();
    await page.goto((await cardOf(page, 'late.png').locator('a').first().getAttribute('href')) ?? '');
    const times = page.locator('#picture-facts time');
    expect(await times.first().textContent()).toBe('this minute');
    expect(await times.last().textContent()).toBe('tomorrow');
  });
});
