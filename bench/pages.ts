/**
 * What a visitor waits for on each page, in Chromium with a quarter of this machine's speed behind 9 Mbit/s and 165 ms (Chrome's
 * "Fast 4G"): when the largest thing is painted (LCP), the slowest answer to a click or a key (INP), what moves by itself (CLS), and
 * the bytes of a first visit without its pictures. Medians of some visits, with 10,000 pictures and 20,000 proxies. `bun bench/pages.ts [VISITS [PAGE ...]]`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { startBrowser } from '../test/support/browser/browser.ts';
import { startJudge } from '../test/support/farm/judge-server.ts';
import { drawScene } from '../test/support/images/scene.ts';
import { seedGallery } from '../test/support/images/seeded-gallery.ts';
import { seedPool } from '../test/support/pool/seeded.ts';
import { startServer } from '../test/support/servers/server-process.ts';

const [count = '5', ...asked] = process.argv.slice(2);
const VISITS = Number(count);
const FAST_4G = {
  offline: false,
  latency: 165,
  downloadThroughput: 9e6 / 8,
  uploadThroughput: 1.5e6 / 8,
};
const SLOWDOWN = 4;

interface Seen {
  lcp: number;
  cls: number;
  events: { name: string; duration: number; delay: number; work: number }[];
}

type Step = (page: Page) => Promise<unknown>;
const picture = await drawScene();

/** What is done on each page after it is loaded. */
const WALKS: Record<string, { path: string; steps: Step[] }> = {
  upload: {
    path: '/',
    steps: [
      (page) => page.getByLabel('Who can see it').focus(),
      (page) => page.keyboard.press('ArrowDown'),
      (page) => page.keyboard.press('ArrowUp'),
      (page) => page.getByLabel('Views').pressSequentially('3'),
      (page) => page.getByText('More options').click(),
      async (page) => {
        await page.setInputFiles('#file', { name: 'one.jpg', mimeType: 'image/jpeg', buffer: picture });
        await page.locator('.upload-card .copy-link').waitFor();
      },
      (page) => page.locator('.upload-card .copy-link').click(),
      (page) => page.getByRole('button', { name: 'QR code' }).click(),
      (page) => page.keyboard.press('Escape'),
    ],
  },
  gallery: {
    path: '/gallery',
    steps: [
      (page) => page.locator('.shot').first().focus(),
      (page) => page.keyboard.press('ArrowDown'),
      (page) => page.keyboard.press('ArrowRight'),
      (page) => page.getByText('Filters').click(),
      (page) => page.getByRole('searchbox').pressSequentially('99'),
      (page) => page.locator('#results').getByText('for “99”').waitFor(),
    ],
  },
  picture: {
    path: '',
    steps: [
      (page) => page.locator('.frame').click(),
      (page) => page.keyboard.press('Escape'),
      (page) => page.locator('#picture-share .copy-link').click(),
    ],
  },
  proxies: {
    path: '/proxies',
    steps: [
      (page) => page.locator('.proxies tbody [type=checkbox]').first().check(),
      (page) => page.locator('.chip:has([value="https"])').click(),
      (page) => page.getByText('More filters').click(),
      (page) => page.getByLabel('Latency at most').pressSequentially('900'),
    ],
  },
  api: {
    path: '/docs',
    steps: [(page) => page.getByRole('searchbox').pressSequentially('upload')],
  },
};

const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-pages-'));
await seedPool(folder, Date.now(), 20_000);
await seedGallery(folder, Date.now(), 10_000);
const judge = await startJudge();
const server = await startServer(
  'bun',
  {
    RATE_LIMITS: 'off',
    PROXY_ALLOW_PRIVATE: 'true',
    PROXY_JUDGES: judge.url,
    PROXY_SOURCES: 'http://127.0.0.1:9/',
  },
  folder,
);
const browser = await startBrowser();
const uploaded = await fetch(`${server.url}/api/upload?filename=large.jpg`, {
  method: 'POST',
  body: new Uint8Array(picture),
});
const { id } = (await uploaded.json()) as { id: string };
if (WALKS.picture) WALKS.picture.path = `/i/${id}`;

/** Has the page note what it can tell of itself, from its first moment on. Runs in the browser. */
const WATCH = `
const seen = { lcp: 0, cls: 0, events: [] };
globalThis.seen = seen;
const observe = (type, take) =>
  new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, durationThreshold: 16 });
observe('largest-contentful-paint', ({ startTime }) => { seen.lcp = startTime; });
observe('layout-shift', ({ value, hadRecentInput }) => { if (!hadRecentInput) seen.cls += value; });
observe('event', ({ interactionId, name, target, duration, startTime, processingStart, processingEnd }) => {
  if (interactionId === 0) return;
  const delay = Math.round(processingStart - startTime);
  const work = Math.round(processingEnd - processingStart);
  seen.events.push({ name: name + ' ' + (target?.tagName ?? ''), duration, delay, work });
});
`;

async function visit(path: string, steps: readonly Step[]) {
  const { page, context, close } = await browser.visit(server.url, {
    viewport: { width: 390, height: 844 },
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  page.setDefaultTimeout(60_000);
  await context.addInitScript({ content: WATCH });
  const session: CDPSession = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', FAST_4G);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  let bytes = 0;
  const pictures = new Set<string>();
  session.on('Network.responseReceived', ({ requestId, type }) => {
    if (type === 'Image') pictures.add(requestId);
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (!pictures.has(requestId)) bytes += encodedDataLength;
  });
  await page.goto(server.url + path, { waitUntil: 'load' });
  await page.waitForTimeout(800);
  const loaded = bytes;
  for (const step of steps) {
    await step(page);
    await page.waitForTimeout(100);
  }
  const seen = await page.evaluate(() => (globalThis as unknown as { seen: Seen }).seen);
  await close();
  const slowest = seen.events.toSorted((one, other) => other.duration - one.duration)[0];
  return { lcp: seen.lcp, cls: seen.cls, bytes: loaded, inp: slowest?.duration ?? 0, slowest };
}

const median = (values: number[]) => values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

try {
  for (const [name, { path, steps }] of Object.entries(WALKS)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const visits: Awaited<ReturnType<typeof visit>>[] = [];
    for (let round = 0; round < VISITS; round++) visits.push(await visit(path, steps));
    const of = (key: 'lcp' | 'inp' | 'cls' | 'bytes') => median(visits.map((one) => one[key]));
    const slow = visits.map(({ slowest }) => slowest).find((one) => one?.duration === of('inp'));
    console.log(
      `${name.padEnd(8)} LCP ${Math.round(of('lcp'))} ms  INP ${of('inp')} ms  CLS ${of('cls').toFixed(3)}  ${(of('bytes') / 1000).toFixed(1)} KB  load ${loadavg()[0]?.toFixed(1)}  (${JSON.stringify(slow)})`,
    );
  }
} finally {
  await browser.close();
  await server.stop();
  await judge.stop();
  await rm(folder, { recursive: true, force: true });
}
