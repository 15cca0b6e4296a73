import { expect, test } from 'bun:test';
import { quarters } from '../support/images/images.ts';
import { startSite } from './site.ts';
import { checkLooks } from './visitor.ts';

const server = startSite({ IMAGE_MAX_UPLOAD: '2MiB' });
const { visit } = server;

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

const PAGES: string[] = ['/', 'locked', '/docs', '/nowhere'];
test.each(PAGES)(
  'the page %s has nothing serious against it, fits a telephone, waits for one file to paint, and does not move',
  async (name) => {
    const upload = async () => server.upload('password=x', await quarters(90, 60).png().toBuffer());
    const path = name === 'locked' ? `/i/${(await upload()).id}` : name;
    await visit(path, checkLooks, { viewport: { width: 360, height: 740 }, expected: /status of 40[14]/ });
  },
);
