import { beforeAll, describe, expect, test } from 'bun:test';
import { zipFiles } from '../support/images/album-sights.ts';
import { type Album, albumsOf } from '../support/images/albums.ts';
import { photo } from '../support/images/images.ts';
import { until } from '../support/stores/services.ts';
import { startSite } from './site.ts';
import { checkLooks } from './visitor.ts';

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };

const ids: string[] = [];
const server = startSite({ SERVICES: 'image' });
const { visit } = server;

beforeAll(async () => {
  for (const [width, height] of [
    [800, 1600],
    [2400, 1500],
    [300, 200],
  ] as const) {
    ids.push((await server.upload(`filename=${width}.jpg`, await photo(width, height))).id);
  }
}, 180_000);

describe('the page of a picture', () => {
  test('sends a telephone the version that fits it', async () => {
    await visit(
      `/i/${ids[1]}`,
      async (page) => {
        const shown = await page.locator('.frame img:not(.blur)').evaluate(async (img: HTMLImageElement) => {
          await img.decode();
          return { src: img.currentSrc, ratio: img.clientWidth / img.clientHeight };
        });
        expect(shown.src).toMatch(/\?w=(640|960)$/);
        expect(shown.ratio).toBeCloseTo(2400 / 1500, 1);
      },
      PHONE,
    );
  });

  test.each([
    [0, 800 / 1600],
    [2, 300 / 200],
  ])('keeps the proportions of picture %d and never enlarges it', async (index, ratio) => {
    await visit(`/i/${ids[index]}`, async (page) => {
      const box = await page.locator('.frame').boundingBox();
      expect((box?.width ?? 0) / (box?.height ?? 1)).toBeCloseTo(ratio, 1);
      expect(box?.width).toBeLessThanOrEqual([800, 2400, 300][index] ?? 0);
    });
  });

  test('leads to the whole picture, which every browser enlarges', async () => {
    // The driver of the browser runs scripts, which the policy of files forbids.
    await visit(
      `/i/${ids[1]}`,
      async (page) => {
        await page.locator('.frame').click();
        await page.waitForURL(/\.webp$/);
        const width = () => page.locator('img').evaluate((img: HTMLImageElement) => img.clientWidth);
        expect(await width()).toBeLessThanOrEqual(1280);
        await page.locator('img').click();
        expect(await width()).toBe(2400);
      },
      { expected: /^Blocked script execution/ },
    );
  });

  test('leads to the pictures beside it by links and by keys', async () => {
    await visit(`/i/${ids[2]}`, async (page) => {
      // Keys are those of a script.
      const press = async (key: string) => {
        await page.waitForLoadState();
        await page.keyboard.press(key);
      };
      await page.getByRole('link', { name: 'Older' }).click();
      await page.getByRole('heading', { name: '2400.jpg' }).waitFor();
      await press('ArrowRight');
      await page.getByRole('heading', { name: '800.jpg' }).waitFor();
      expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
      await press('ArrowLeft');
      await page.getByRole('heading', { name: '2400.jpg' }).waitFor();
      await page.getByRole('link', { name: 'Newer' }).click();
      await page.getByRole('heading', { name: '300.jpg' }).waitFor();
      expect(await page.getByRole('link', { name: 'Newer' }).count()).toBe(0);
    });
  });
});

test('a view is not used up by the second half of a double click, and is asked for again after one that was stopped', async () => {
  const { id } = await server.upload('max_views=2', await photo(40, 30));
  await visit(`/i/${id}`, async (page) => {
    const asked: string[] = [];
    await page.route('**/view', (route) => void asked.push(route.request().url()));
    const browser = await page.context().newCDPSession(page);
    // Nothing answers while a page is being left, until that is stopped.
    const stop = () => browser.send('Page.stopLoading');
    /** At these times of the page, the second a moment after the first. */
    const click = async (...times: number[]) => {
      const clicks = times.map(
        (time, place) => `setTimeout(() => {
          Object.defineProperty(Event.prototype, 'timeStamp', { configurable: true, value: ${time} });
          document.querySelector('main button').click();
        }, ${200 * place})`,
      );
      await browser.send('Runtime.evaluate', { expression: clicks.join(';') });
      await until(() => asked.length > 0);
    };
    await click(1000, 1200);
    await Bun.sleep(500);
    expect(asked.splice(0)).toHaveLength(1);
    await stop();
    await click(20_000);
    await stop();
  });
});

test('the language changes without scripts, on the page where it is chosen', async () => {
  await visit(
    `/i/${ids[0]}`,
    async (page) => {
      await page.getByRole('button', { name: '简体中文' }).click();
      await page.getByRole('link', { name: '下载' }).waitFor();
      expect(new URL(page.url()).pathname).toBe(`/i/${ids[0]}`);
    },
    { javaScriptEnabled: false },
  );
});

test.each(['en', 'zh-CN'])('a picture with a word in %s has nothing serious against it', async (locale) => {
  await visit(`/i/${ids[1]}`, checkLooks, { ...PHONE, locale });
});

describe('the page of an album', () => {
  const PASSWORD = 'open sesame';
  const { make, uploadInto } = albumsOf(() => ({ send: (path, init) => fetch(server.url + path, init) }));
  let album: Album;

  beforeAll(async () => {
    album = await make({ title: 'Harbour in winter' });
    await uploadInto(album, { filename: 'quay.jpg' });
    const long = 'a very long name of a picture that nobody would ever type.jpg';
    await uploadInto(album, { filename: long });
    await uploadInto(album, { filename: 'secret.jpg', password: PASSWORD });
    await uploadInto(album, { filename: 'twice.jpg', max_views: '2' });
  }, 180_000);

  test('looks well on a telephone and on a screen, in light and in dark', async () => {
    await visit(`/a/${album.id}`, checkLooks, PHONE);
  });

  test.each([true, false])(
    'shows a protected picture once its password was given, with scripts (%p)',
    async (javaScriptEnabled) => {
      await visit(
        `/a/${album.id}`,
        async (page) => {
          expect(await page.locator('.tiles img').count()).toBe(2);
          await page.getByRole('link', { name: 'Protected' }).click();
          await page.getByLabel('Password').fill(PASSWORD);
          await page.getByLabel('Password').press('Enter');
          await page.getByRole('heading', { name: 'secret.jpg' }).waitFor();
          await page.goto(`${server.url}/a/${album.id}`);
          expect(await page.locator('.tiles img').count()).toBe(3);
          const [download] = await Promise.all([
            page.waitForEvent('download'),
            page.getByRole('link', { name: 'Download 3 of 4' }).click(),
          ]);
          expect(download.suggestedFilename()).toBe('Harbour in winter.zip');
          const names = [...zipFiles(await Bun.file(await download.path()).bytes()).keys()];
          expect(names.at(-1)).toBe('03 secret.webp');
        },
        { javaScriptEnabled, expected: /401/ },
      );
    },
  );
});
