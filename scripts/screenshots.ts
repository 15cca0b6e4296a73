/**
 * Takes screenshots of every page, light and dark, wide and narrow, on a server with pictures and proxies, for
 * `docs/screenshots`.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { startBrowser } from '../test/support/browser/browser.ts';
import { startJudge } from '../test/support/farm/judge-server.ts';
import { draw, SCENES } from '../test/support/images/scenes.ts';
import { seedPool } from '../test/support/pool/seeded.ts';
import { startServer } from '../test/support/servers/server-process.ts';

const FOLDER = 'docs/screenshots';
const VIEWS = [
  { name: 'wide', width: 1280, height: 900 },
  { name: 'narrow', width: 360, height: 780 },
];

const data = await mkdtemp(join(tmpdir(), 'picpool-screenshots-'));
await seedPool(data, Date.now());
const judge = await startJudge();
const settings = {
  PUBLIC_URL: 'https://picpool.example',
  // Where the browser really is.
  ALLOWED_HOSTS: '127.0.0.1,localhost',
  PROXY_JUDGES: judge.url,
  PROXY_WITNESSES: 'none',
  PROXY_ALLOW_PRIVATE: 'true',
  RATE_LIMITS: 'off',
};
const server = await startServer('bun', settings, data);
const browser = await startBrowser();
const only = process.argv.slice(2);
let bytes = 0;

async function upload(name: string, body: Buffer, query = ''): Promise<string> {
  const path = `/api/upload?filename=${encodeURIComponent(name)}&${query}`;
  const answer = await fetch(server.url + path, { method: 'POST', body: new Uint8Array(body) });
  return ((await answer.json()) as { id: string }).id;
}

/** Allowed by the address alone. */
async function removeAll(text: string): Promise<void> {
  const answer = await fetch(`${server.url}/api/search?q=${encodeURIComponent(text)}`);
  const { images } = (await answer.json()) as { images: { id: string }[] };
  for (const { id } of images) await fetch(`${server.url}/api/delete/${id}`, { method: 'DELETE' });
}

try {
  await mkdir(FOLDER, { recursive: true });
  const drawn = await Promise.all(SCENES.map(draw));
  const ids: string[] = [];
  for (const [index, scene] of SCENES.entries())
    ids.push(await upload(scene.filename, drawn[index] ?? Buffer.of()));
  const locked = await upload('private.jpg', drawn[0] ?? Buffer.of(), 'password=swordfish');
  const pages: Record<string, string> = {
    gallery: '/gallery',
    image: `/i/${ids[4]}`,
    password: `/i/${locked}`,
    proxies: '/proxies',
    api: '/docs',
    error: '/i/AAAAAAAAAAAA',
    home: '/',
  };
  for (const { name: view, width, height } of VIEWS) {
    for (const scheme of ['light', 'dark'] as const) {
      const { page, close } = await browser.visit(server.url, {
        viewport: { width, height },
        colorScheme: scheme,
        reducedMotion: 'reduce',
      });
      for (const [name, path] of Object.entries(pages)) {
        if (only.length > 0 && !only.includes(name)) continue;
        await page.goto(server.url + path);
        if (name === 'home') {
          await page.setInputFiles('#file', {
            name: 'just dropped.jpg',
            mimeType: 'image/jpeg',
            buffer: drawn[6] ?? Buffer.of(),
          });
          await page.getByText('Copy link').first().waitFor();
        }
        // The list of a refresh never ends, so the network of that page is never idle.
        await page.waitForLoadState(name === 'proxies' ? 'load' : 'networkidle');
        const tall = name === 'proxies' && view === 'wide';
        const shot = await page.screenshot({
          type: 'png',
          ...(tall && { clip: { x: 0, y: 0, width, height: 1500 }, fullPage: true }),
        });
        const small = await sharp(shot).webp({ quality: 82, effort: 6 }).toBuffer();
        bytes += small.byteLength;
        await writeFile(join(FOLDER, `${name}-${view}-${scheme}.webp`), small);
        if (process.env.KEEP_PNG)
          await writeFile(join(process.env.KEEP_PNG, `${name}-${view}-${scheme}.png`), shot);
      }
      await close();
      // Every visit uploads it, but the gallery should show it once.
      await removeAll('just dropped');
    }
  }
  console.log(`${FOLDER}: ${Math.round(bytes / 1000)} kB`);
} finally {
  await browser.close();
  await server.stop();
  await judge.stop();
  await rm(data, { recursive: true, force: true });
}
