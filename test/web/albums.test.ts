import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import sharp from 'sharp';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { fillStorage, makeAlbum as makeAlbumOf, mineOf } from './kept.ts';
import { startSite } from './site.ts';
import { checkLooks } from './visitor.ts';

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const server = startSite({ IMAGE_MAX_UPLOAD: '2MiB' });
const picture = await quarters(900, 600).png().toBuffer();
const { visit } = server;

const files = (...names: string[]) =>
  names.map((name) => ({ name: `${name}.png`, mimeType: 'image/png', buffer: picture }));
const makeAlbum = (page: Page, title: string, ...names: string[]) =>
  makeAlbumOf(page, title, files(...names));
const namesOn = (page: Page) => page.locator('.ordering .tile-name').allTextContents();
const saved = (page: Page) => page.getByText('Saved.').first().waitFor();

/** The names of the pictures in an album, as anyone gets them. */
async function namesIn(id: string): Promise<string[]> {
  const { images } = await json<{ images: { filename: string }[] }>(
    await fetch(`${server.url}/api/albums/${id}`),
  );
  return images.map(({ filename }) => filename);
}

/** Reads the QR code on a page that was opened to be printed, and closes it. */
async function scan(page: Page): Promise<string> {
  // A page that was opened is there before what is on it, and that before its style.
  await page.locator('img[src^="data:image/svg"]').evaluate((code: HTMLImageElement) => code.decode());
  await page.waitForLoadState();
  await page.emulateMedia({ media: 'print' });
  expect(await page.getByRole('button').or(page.locator('form')).filter({ visible: true }).count()).toBe(0);
  const { data, info } = await sharp(await page.screenshot({ fullPage: true }))
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  await page.close();
  return decodeQR({ data, width: info.width, height: info.height });
}

test('an album with a title is found again, put in order by dragging and by keys, and loses and gets pictures', async () => {
  await visit('/', async (page) => {
    const id = await makeAlbum(page, 'Harbour', 'one', 'two', 'three', 'four');
    await page.goto(server.url);
    await page.locator('#my-albums').getByRole('link', { name: 'Harbour' }).click();
    await page.getByRole('button', { name: 'Edit album' }).click();
    await page.locator('.ordering').waitFor();
    const [first, , last] = ['one', 'two', 'four'].map((name) =>
      page.getByRole('button', { name: `Move ${name}.png`, exact: true }),
    ) as [ReturnType<Page['locator']>, ReturnType<Page['locator']>, ReturnType<Page['locator']>];
    const goal = await first.boundingBox();
    await last.hover();
    await page.mouse.down();
    await page.mouse.move((goal?.x ?? 0) + 20, (goal?.y ?? 0) + 20, { steps: 8 });
    await page.mouse.up();
    await saved(page);
    expect(await namesOn(page)).toEqual(['four.png', 'one.png', 'two.png', 'three.png']);
    await first.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await namesOn(page)).toEqual(['four.png', 'two.png', 'three.png', 'one.png']);
    await page.getByRole('button', { name: 'Remove two.png from the album' }).click();
    await page.getByRole('button', { name: 'Make three.png the cover' }).click();
    await page.getByLabel('Title').fill('Harbour in winter');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Harbour in winter' }).waitFor();
    await checkLooks(page, { painted: false });
    await page.getByRole('link', { name: 'Add pictures' }).click();
    await page.getByText('goes to your album Harbour in winter').waitFor();
    await page.setInputFiles('#file', files('five'));
    await page.getByRole('heading', { name: 'Your picture is online' }).waitFor();
    expect(await namesIn(id)).toEqual(['four.png', 'three.png', 'one.png', 'five.png']);
    await page.goto(`${server.url}/a/${id}`);
    await page.locator('.tile').first().click();
    for (const next of ['three', 'one', 'five']) {
      await page.getByRole('link', { name: 'Next' }).click();
      await page.getByRole('heading', { name: `${next}.png` }).waitFor();
    }
    await page.getByRole('link', { name: 'Harbour in winter' }).click();
    await page.getByRole('heading', { name: 'Harbour in winter' }).waitFor();
    await page.evaluate(() => localStorage.clear());
    await page.goto(`${server.url}/?album=${id}`);
    await page.getByText('cannot add pictures to that album').waitFor();
  });
}, 120_000);

test('an album is deleted by a second click, not by a double click or a key held down, is listed no more, and its pictures stay', async () => {
  const work = async (page: Page) => {
    const id = await makeAlbum(page, 'Harbour', 'one', 'two');
    const [{ raw_url: address = '' } = {}] = (
      await json<{ images: { raw_url: string }[] }>(await fetch(`${server.url}/api/albums/${id}`))
    ).images;
    await page.goto(`${server.url}/a/${id}`);
    await page.getByRole('button', { name: 'Edit album' }).click();
    await page.getByRole('button', { name: 'Delete album' }).dblclick();
    const sure = page.getByRole('button', { name: 'Delete it, and keep its pictures' });
    await sure.waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Edit album' }).click();
    // It repeats.
    const hold = async (name: string) => {
      await page.getByRole('button', { name }).focus();
      for (const key of ['Enter', 'Enter', 'Enter']) await page.keyboard.down(key);
      await page.keyboard.up('Enter');
    };
    let invites = 0;
    page.on('request', (request) => {
      invites += Number(request.method() === 'POST' && request.url().endsWith('/invites'));
    });
    await hold('Invite guests');
    await page.getByRole('button', { name: 'Copy link for guests' }).first().waitFor();
    await page.route('**/images/*', (route) => route.fulfill({ status: 404, body: '<h1>Log in</h1>' }));
    await page.getByRole('button', { name: 'Remove one.png' }).click();
    await page.locator('#album-note.fault').waitFor();
    expect([await page.locator('.ordering li').count(), invites]).toEqual([2, 1]);
    await hold('Delete album');
    await sure.waitFor();
    expect((await fetch(`${server.url}/a/${id}`)).status).toBe(200);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.url}/`);
    expect(await page.locator('#my-albums').isHidden()).toBe(true);
    expect((await fetch(`${server.url}/a/${id}`)).status).toBe(404);
    expect((await fetch(address)).status).toBe(200);
  };
  await visit('/', work, { expected: /404/ });
});

test('a picture that was deleted meanwhile is left out of a new album, and nobody else can edit it', async () => {
  await visit(
    '/',
    async (page) => {
      await page.setInputFiles('#file', files('stays', 'goes', 'stays too'));
      await page.getByRole('heading', { name: '3 pictures are online' }).waitFor();
      const mine = await mineOf(page);
      const gone = mine.find(({ filename }) => filename === 'goes.png');
      await fetch(`${server.url}/api/delete/${gone?.id}`, {
        method: 'DELETE',
        headers: { 'x-delete-token': gone?.delete_token ?? '' },
      });
      await page.getByRole('button', { name: 'Make an album' }).click();
      await page.keyboard.press('Enter');
      await page.locator('#album').getByText('Album with 2 pictures').waitFor();
      const url = (await page.locator('#album a').getAttribute('href')) ?? '';
      expect(await namesIn(url.split('/').at(-1) ?? '')).toEqual(['stays.png', 'stays too.png']);
      await page.evaluate(() => localStorage.clear());
      await page.goto(url);
      await page.locator('.tile').first().waitFor();
      expect(await page.getByRole('button', { name: 'Edit album' }).count()).toBe(0);
    },
    { expected: /404/, ...PHONE },
  );
}, 120_000);

test('the last order of a large album stands, however fast it was made, and even if another tab has taken a picture out', async () => {
  const album = await json<{ id: string; token: string; url: string }>(
    await fetch(`${server.url}/api/albums`, { method: 'POST' }),
  );
  const { id, token } = album;
  const headers = { 'x-album-token': token };
  // So small that no version for a screen is made: that takes a busy machine a minute.
  const small = await quarters(40, 30).png().toBuffer();
  for (const from of [10, 30]) {
    const body = new FormData();
    for (let number = from; number < from + 20; number++)
      body.append('image', new File([small], `${number}.png`));
    const stored = await fetch(`${server.url}/api/upload?album=${id}`, { method: 'POST', body, headers });
    expect(stored.status).toBe(201);
  }
  await visit(
    `/a/${id}`,
    async (page) => {
      const kept = { ...album, count: 40, made: 0 };
      await page.evaluate((made) => localStorage.setItem('picpool:albums', JSON.stringify([made])), kept);
      await page.reload();
      let fetched = 0;
      page.on('request', (request) => {
        // Those of the page before are not small versions.
        if (request.url().endsWith('?w=320')) fetched++;
      });
      const slow = Promise.withResolvers<void>();
      let changes = 0;
      await page.route(`**/api/albums/${id}`, async (route) => {
        if (route.request().method() !== 'PATCH') return route.continue();
        if (++changes === 1) await slow.promise;
        await route.continue();
      });
      await page.getByRole('button', { name: 'Edit album' }).click();
      const grips = page.locator('.ordering .grip');
      await page.waitForFunction(
        () => document.querySelector<HTMLImageElement>('.ordering img')?.complete === true,
      );
      expect(fetched).toBeLessThan(40);
      await page.getByRole('button', { name: 'Move 10.png', exact: true }).focus();
      const begun = page.waitForRequest((request) => request.method() === 'PATCH');
      for (let key = 0; key < 30; key++) await page.keyboard.press('ArrowRight');
      await begun;
      await page.keyboard.press('ArrowRight');
      slow.resolve();
      await page.getByLabel('Title').fill('Named');
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('heading', { name: 'Named' }).waitFor();
      expect((await namesIn(id)).indexOf('10.png')).toBe(31);
      expect(changes).toBeLessThan(8);

      await page.getByRole('button', { name: 'Edit album' }).click();
      await grips.nth(39).waitFor();
      const { images } = await json<{ images: { id: string }[] }>(
        await fetch(`${server.url}/api/albums/${id}`),
      );
      await fetch(`${server.url}/api/albums/${id}/images/${images[0]?.id}`, { method: 'DELETE', headers });
      const [, moved = ''] = await namesOn(page);
      await grips.nth(1).focus();
      await page.keyboard.press('ArrowRight');
      await grips.nth(39).waitFor({ state: 'detached' });
      await saved(page);
      // What was moved stays there, and has the focus.
      expect((await namesIn(id))[1]).toBe(moved);
      expect(await grips.nth(1).evaluate((grip) => grip === document.activeElement)).toBe(true);
      const [first = ''] = await namesOn(page);
      await grips.first().focus();
      const changed = page.waitForResponse((answer) => answer.request().method() === 'PATCH');
      await page.keyboard.press('ArrowRight');
      await changed;
      expect((await namesIn(id))[1]).toBe(first);
    },
    { ...PHONE, expected: /400/ },
  );
}, 120_000);

test('a guest with a phone adds 3 photos by the QR code, with and without scripts, and the maker of the album deletes one', async () => {
  await visit('/', async (page) => {
    const id = await makeAlbum(page, 'Party', 'own one', 'own two');
    await page.goto(`${server.url}/a/${id}`);
    await page.getByRole('button', { name: 'Edit album' }).click();
    await page.getByRole('button', { name: 'Invite guests' }).dblclick();
    const shown = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Show QR code' }).click({ modifiers: ['Control'] });
    const link = await scan(await shown);
    const path = link.replace(server.url, '');
    await visit(
      path,
      async (guest) => {
        await checkLooks(guest);
        const [chooser] = await Promise.all([
          guest.waitForEvent('filechooser'),
          guest.getByText('Add your photos', { exact: true }).tap(),
        ]);
        await chooser.setFiles(files('cake', 'dance', 'toast'));
        await guest.getByRole('heading', { name: '3 pictures are online' }).waitFor();
        expect(await guest.getByText('Anyone with the link').count()).toBe(3);
        expect(await guest.getByRole('button', { name: 'Make an album' }).count()).toBe(0);
        expect(await guest.getByText('on another device').count()).toBe(0);
      },
      PHONE,
    );
    await visit(
      path,
      async (guest) => {
        await guest.setInputFiles('#file', files('plain'));
        await guest.getByRole('button', { name: 'Upload' }).click();
        await guest.getByRole('heading', { name: '1 picture uploaded' }).waitFor();
        await guest.getByRole('link', { name: 'Upload more' }).click();
        await guest.getByRole('heading', { name: 'Party' }).waitFor();
      },
      { ...PHONE, javaScriptEnabled: false, locale: 'en' },
    );
    await page.reload();
    await page.getByRole('button', { name: 'Edit album' }).click();
    await page.getByText('Guests: 4 of 100 pictures').waitFor();
    await page.getByRole('button', { name: 'Delete cake.png, which a guest has added' }).click();
    await saved(page);
    expect((await namesIn(id)).toSorted()).toEqual([
      'dance.png',
      'own one.png',
      'own two.png',
      'plain.png',
      'toast.png',
    ]);
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Guests: 4').waitFor({ state: 'detached' });
    expect((await fetch(link)).status).toBe(403);
  });
}, 120_000);

// The last one, because the server is busy for a while after so many pictures.
test('the token of a new album is kept before anything else happens, and said if there is no room for it', async () => {
  await visit('/', async (page) => {
    await page.setInputFiles('#file', files('one', 'two'));
    await page.getByRole('heading', { name: '2 pictures are online' }).waitFor();
    await fillStorage(page);
    await page.getByRole('button', { name: 'Make an album' }).click();
    await page.keyboard.press('Enter');
    await page.getByText(/no room for the token of the album.* \w{32}$/).waitFor();
  });
  const small = await quarters(8, 8).png().toBuffer();
  const many = Array.from({ length: 101 }, (_, number) => ({
    name: `${number}.png`,
    mimeType: 'image/png',
    buffer: small,
  }));
  await visit('/', async (page) => {
    await page.setInputFiles('#file', many);
    await page.getByRole('heading', { name: '101 pictures are online' }).waitFor({ timeout: 0 });
    await page.route('**/api/albums/*/images', () => {});
    const adding = page.waitForRequest('**/api/albums/*/images');
    await page.getByRole('button', { name: 'Make an album' }).click();
    await page.keyboard.press('Enter');
    const url = (await adding).url();
    const again = await page.context().newPage();
    await again.goto(server.url);
    await again.locator('#my-albums').getByRole('link', { name: 'Album with 100 pictures' }).click();
    await again.getByRole('button', { name: 'Edit album' }).waitFor();
    expect(url).toContain(again.url().split('/').at(-1) ?? '?');
  });
}, 120_000);
