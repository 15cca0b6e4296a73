import { describe, expect, test } from 'bun:test';
import { quarters } from '../support/images/images.ts';
import { startSite } from './site.ts';
import { checkLooks } from './visitor.ts';

/** What Chromium writes when a document itself is answered with an error. */
const ANSWERED_401 = /status of 401/;

const server = startSite({ IMAGE_MAX_UPLOAD: '2MiB' });
const picture = await quarters(900, 600).png().toBuffer();
const { visit } = server;

const upload = (name: string, query = '') =>
  server.upload(`filename=${encodeURIComponent(name)}&${query}`, picture);

test('the first page is small', async () => {
  const visited = await server.browser.visit(server.url);
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

describe('without scripts', () => {
  const off = { javaScriptEnabled: false };

  test('the password form and the search work', async () => {
    const { id } = await upload('secret.png', 'password=swordfish');
    await upload('row 25.png');
    await visit(
      `/i/${id}`,
      async (page) => {
        await page.getByLabel('Password').fill('swordfish');
        await page.getByRole('button', { name: 'Show picture' }).click();
        await page.getByRole('heading', { name: 'secret.png' }).waitFor();
        await page.goto(`${server.url}/gallery`);
        await page.getByRole('searchbox').fill('row 25');
        await page.getByRole('button', { name: 'Search' }).click();
        await page.waitForURL('**/gallery?q=*');
        expect(await page.locator('.shot').count()).toBe(1);
      },
      { ...off, expected: ANSWERED_401 },
    );
  });
});

const PAGES: string[] = ['/', 'locked', '/docs', '/nowhere'];
test.each(PAGES)(
  'the page %s has nothing serious against it, fits a telephone, waits for one file to paint, and does not move',
  async (name) => {
    let path = name;
    if (name === 'locked') path = `/i/${(await upload('locked.png', 'password=x')).id}`;
    await visit(path, checkLooks, { viewport: { width: 360, height: 740 }, expected: /status of 40[14]/ });
  },
);
