/**
 * Bytes of pictures that Chromium loads for the page of a picture, the gallery, the HTML snippet on another page and a link with `?auto`, against the
 * same requests by a browser that reads WebP but not AVIF. `bun bench/loaded.ts FOLDER [COUNT]`: a folder of JPEG photos, which are uploaded without
 * options. Pages at 390 x 844 points with three pixels each, scrolled to their end.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startBrowser } from '../test/support/browser/browser.ts';
import { startServer } from '../test/support/servers/server-process.ts';

const [folder = '.', count = '12'] = process.argv.slice(2);
const names = (await readdir(folder)).filter((name) => /\.jpe?g$/i.test(name)).slice(0, Number(count));
const server = await startServer('bun', { RATE_LIMITS: 'off', PROXY_SOURCES: 'http://127.0.0.1:9/' });
const browser = await startBrowser();

const uploads: { id: string; html: string }[] = [];
for (const name of names) {
  const body = await readFile(join(folder, name));
  const answer = await fetch(`${server.url}/api/upload?filename=photo.jpg`, { method: 'POST', body });
  if (answer.ok) uploads.push((await answer.json()) as (typeof uploads)[number]);
}
const elsewhere = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () =>
    new Response(uploads.map(({ html }) => `<p>${html}</p>`).join('\n'), {
      headers: { 'content-type': 'text/html' },
    }),
});

/** Returns what the browser loads, and what one without AVIF would. */
async function bytesOf(url: string): Promise<[loaded: number, webp: number]> {
  const { page, close } = await browser.visit(server.url, {
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 3,
  });
  const found = new Map<string, number>();
  page.on('response', async (response) => {
    if (!response.headers()['content-type']?.startsWith('image/') || !response.url().includes('/i/')) return;
    found.set(response.url(), (await response.body()).length);
  });
  await page.goto(url, { waitUntil: 'load' });
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await page.waitForLoadState('networkidle');
  await close();
  let [loaded, webp] = [0, 0];
  for (const [address, bytes] of found) {
    loaded += bytes;
    const other = await fetch(address, { headers: { accept: 'image/webp,*/*;q=0.8' } });
    webp += (await other.arrayBuffer()).byteLength;
  }
  return [loaded, webp];
}

try {
  const places: Record<string, string[]> = {
    page: uploads.map(({ id }) => `${server.url}/i/${id}`),
    gallery: [`${server.url}/gallery`],
    embed: [elsewhere.url.href],
    'link with ?auto': uploads.map(({ id }) => `${server.url}/i/${id}?auto`),
  };
  for (const [name, urls] of Object.entries(places)) {
    const seen: [number, number][] = [];
    for (const url of urls) seen.push(await bytesOf(url));
    const [loaded, webp] = [0, 1].map((at) => seen.reduce((sum, one) => sum + (one[at] ?? 0), 0));
    console.log(
      `${name}: ${((loaded ?? 0) / 1000).toFixed(0)} KB, ${((loaded ?? 0) / (webp ?? 1)).toFixed(2)} of WebP`,
    );
  }
} finally {
  await browser.close();
  await elsewhere.stop(true);
  await server.stop();
}
