/**
 * Looks at every page, and at what a click shows there, with 10,000 pictures and 20,000 proxies: at three widths, light and dark, in
 * English and Chinese, with axe's rules of WCAG 2.2 AA and of best practice, by Tab, without scripts and with the network cut.
 * `bun run walk [--shots FOLDER] [--on deno] [VIEW ...]`: FOLDER gets a screenshot of each.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { startBrowser } from '../support/browser/browser.ts';
import { drawScene } from '../support/images/scene.ts';
import { seedGallery } from '../support/images/seeded-gallery.ts';
import { seedPool } from '../support/pool/seeded.ts';
import { startScanner } from '../support/scanner.ts';
import { startServer } from '../support/servers/server-process.ts';
import { overflowOf } from './visitor.ts';

const SIZES = [
  [390, 844],
  [768, 1024],
  [1440, 900],
] as const;
/** How a view is opened at each size. */
const SETTINGS = [
  { colorScheme: 'light', locale: 'en', javaScriptEnabled: true },
  { colorScheme: 'dark', locale: 'en', javaScriptEnabled: true },
  { colorScheme: 'light', locale: 'zh-CN', javaScriptEnabled: true },
  { colorScheme: 'light', locale: 'en', javaScriptEnabled: false },
] as const;
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** What pages that are errors, and a cut network, leave on the console. */
const INTENDED = /status of 4(0[134]|15)|ERR_INTERNET_DISCONNECTED/;
/** More Tabs than this are not pressed on a page. */
const MOST_TABS = 60;

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  options: { shots: { type: 'string' }, on: { type: 'string', default: 'bun' } },
  allowPositionals: true,
});
const { shots } = values;
if (shots !== undefined) await mkdir(shots, { recursive: true });
const folder = await mkdtemp(join(tmpdir(), 'picpool-walk-'));
await seedPool(folder, Date.now(), 20_000);
await seedGallery(folder, Date.now(), 10_000);
const scanner = startScanner();
await writeFile(join(folder, 'terms.txt'), 'Show only what you may show.\n\nWhat breaks the law goes.');
const server = await startServer(
  values.on === 'deno' ? 'deno' : 'bun',
  {
    ...{ RATE_LIMITS: 'off', PROXY_ALLOW_PRIVATE: 'true', PROXY_SOURCES: 'http://127.0.0.1:9/' },
    ...{ ADMIN_TOKEN, ABUSE_CONTACT: 'abuse@img.example', TERMS: join(folder, 'terms.txt') },
    IMAGE_SCAN_URL: `http://127.0.0.1:${scanner.port}/`,
    IMAGE_SCAN_SECRET: 'a-secret-of-the-scanner',
  },
  folder,
);
const browser = await startBrowser();
const scene = await drawScene();

interface View {
  path: string;
  /** For a visitor who has logged in. */
  cookie?: string;
  /** Shows more of the page, which takes scripts. */
  step?: (page: Page) => Promise<unknown>;
}

const picture = await upload('');
const album = await makeAlbum();
const cookie = await login();
await upload('', 'review.jpg');
const reported = await report(picture.slice(3), 'That is me, and I do not agree.');
await report((await upload('')).slice(3), 'Spam.');
const views: Record<string, View> = {
  home: { path: '/' },
  'home-options': { path: '/', step: (page) => page.locator('.options summary').click() },
  'home-uploaded': { path: '/', step: (page) => choose(page, 1) },
  'home-many': { path: '/', step: (page) => choose(page, 5) },
  'home-code': {
    path: '/',
    step: async (page) => {
      await choose(page, 1);
      await page
        .getByRole('button', { name: 'QR code' })
        .or(page.getByRole('button', { name: '二维码' }))
        .click();
      await page.locator('.popup img').evaluate((img: HTMLImageElement) => img.decode());
    },
  },
  'home-cut': {
    path: '/',
    step: async (page) => {
      await page.context().setOffline(true);
      await page.setInputFiles('#file', files(2));
      await page.locator('.upload-card').nth(1).waitFor();
    },
  },
  'home-album': {
    path: '/',
    step: async (page) => {
      await keepAlbum(page);
      await choose(page, 2);
      await page.locator('#make-album').click();
    },
  },
  album: { path: `/a/${album.id}` },
  'album-picture': { path: `/a/${album.id}/${album.pictures[1]}` },
  'album-edit': {
    path: `/a/${album.id}`,
    step: async (page) => {
      await keepAlbum(page);
      await page.locator('#album-actions button').click();
      await page.locator('.ordering').waitFor();
    },
  },
  'album-guests': { path: album.invited },
  'album-added': { path: album.invited, step: (page) => choose(page, 2) },
  'album-revoked': { path: `/a/${album.id}/add?k=none` },
  integrations: { path: '/integrations' },
  gallery: { path: '/gallery' },
  'gallery-cut': {
    path: '/gallery',
    step: async (page) => {
      await page.context().setOffline(true);
      await page.locator('[data-more]').click();
    },
  },
  nothing: { path: '/gallery?q=nothing-like-this' },
  picture: { path: picture },
  'picture-edit': {
    path: '/',
    step: async (page) => {
      await choose(page, 1);
      const [href] = await page
        .locator('a.upload-name')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      await page.goto(`${href}#edit`);
      await page.locator('#edit-visibility').waitFor();
    },
  },
  'home-again': {
    path: '/',
    step: async (page) => {
      await choose(page, 5);
      await page.reload();
      await page.locator('.tick').nth(1).check();
      await page.locator('#mine-list .danger').first().click();
      await page.locator('#lists summary').click();
    },
  },
  'home-failed': {
    path: '/',
    step: async (page) => {
      await choose(page, 4);
      const bad = { mimeType: 'image/png', buffer: Buffer.from('Dear all,') };
      await page.setInputFiles('#file', [
        { name: 'a.png', ...bad },
        { name: 'b.png', ...bad },
        { name: 'c.png', ...bad, buffer: Buffer.alloc(0) },
      ]);
      await page.locator('#failures .upload-card').nth(1).waitFor();
    },
  },
  'gallery-share': {
    path: '/gallery',
    step: async (page) => {
      await page.locator('.rows li').first().hover();
      await page.locator('.shot-share').first().click();
      await page.locator('.popup .share-text').waitFor();
    },
  },
  protected: { path: await upload('&password=secret') },
  limited: { path: await upload('&max_views=5') },
  proxies: { path: '/proxies' },
  'proxies-chosen': {
    path: '/proxies',
    step: (page) => page.locator('.proxies tbody [type=checkbox]').first().check(),
  },
  faulty: { path: '/proxies?range=30d&country=DE&uptime=x&status=dead' },
  api: { path: '/docs#uploadImage' },
  missing: { path: '/nowhere' },
  contact: { path: '/contact' },
  report: { path: `/report?image=${picture.slice(3)}` },
  'report-state': { path: `/report/${reported}` },
  'admin-login': { path: '/admin' },
  admin: { path: '/admin', cookie },
  'admin-preview': {
    path: '/admin',
    cookie,
    async step(page) {
      for (const box of (await page.getByRole('checkbox').all()).slice(0, 5)) await box.check();
      await page.locator('[name=block][value=network]').click();
      await page.locator('#statement').waitFor();
    },
  },
  ...Object.fromEntries(
    ['reviews', 'reports', 'log', 'tokens', 'server'].map((name) => [
      `admin-${name}`,
      { path: `/admin/${name}`, cookie },
    ]),
  ),
};

function files(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    name: `walk-${index}.jpg`,
    mimeType: 'image/jpeg',
    buffer: scene,
  }));
}

async function choose(page: Page, count: number): Promise<void> {
  await page.setInputFiles('#file', files(count));
  await page
    .locator('.upload-card .copy-link')
    .nth(count - 1)
    .waitFor();
}

async function login(): Promise<string> {
  const { headers } = await fetch(`${server.url}/admin/login`, {
    method: 'POST',
    body: new URLSearchParams({ token: ADMIN_TOKEN }),
    redirect: 'manual',
  });
  return /picpool_admin=([\w-]+)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? '';
}

/** Sends JSON and returns the answer. */
async function post<T>(path: string, body: object, headers: Record<string, string> = {}): Promise<T> {
  const type = { 'content-type': 'application/json', ...headers };
  const init = { method: 'POST', body: JSON.stringify(body), headers: type };
  return (await (await fetch(server.url + path, init)).json()) as T;
}

async function report(image: string, text: string): Promise<string> {
  const body = { image, reason: 'privacy', text, contact: 'me@example.org' };
  return (await post<{ receipt: string }>('/api/reports', body)).receipt;
}

async function upload(options: string, name = 'walk.jpg', headers = {}): Promise<string> {
  const init = { method: 'POST', body: new Uint8Array(scene), headers };
  const answer = await fetch(`${server.url}/api/upload?filename=${name}${options}`, init);
  return `/i/${((await answer.json()) as { id: string }).id}`;
}

async function makeAlbum() {
  const made = await post<{ id: string; token: string; url: string }>('/api/albums', {
    title: 'Harbour in winter',
  });
  const headers = { 'x-album-token': made.token };
  const pictures: string[] = [];
  for (let number = 1; number <= 5; number++)
    pictures.push((await upload(`&album=${made.id}`, `harbour-${number}.jpg`, headers)).slice(3));
  const invites = `/api/albums/${made.id}/invites`;
  const { url } = await post<{ url: string }>(invites, { max: 1000 }, headers);
  return { ...made, pictures, invited: url.replace(server.url, '') };
}

/** Lets the browser have made the album. */
async function keepAlbum(page: Page): Promise<void> {
  const mine = { ...album, pictures: undefined, title: 'Harbour in winter', count: 5, made: Date.now() };
  await page.evaluate((kept) => localStorage.setItem('picpool:albums', kept), JSON.stringify([mine]));
  await page.reload();
}

/** Returns what axe has against the page, by rule. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async (rules) => {
    const engine = (globalThis as unknown as { axe: typeof axe }).axe;
    return (await engine.run(document, { runOnly: rules, resultTypes: ['violations'] })).violations;
  }, RULES);
  return violations.map(
    ({ id, impact, nodes }) =>
      `${impact} ${id}: ${nodes
        .map(({ target }) => target.join(' '))
        .slice(0, 3)
        .join(', ')}`,
  );
}

/** Returns what is wrong with the stop that has the focus. */
function faultOfStop(page: Page): Promise<string | null> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return null;
    const target = element.matches('input') ? (element.closest('.chip, .dropzone') ?? element) : element;
    const { outlineStyle } = getComputedStyle(target);
    const { bottom, top, width } = target.getBoundingClientRect();
    const name = `${element.tagName.toLowerCase()}.${element.className}#${element.id}`;
    if (width === 0 || bottom < 0 || top > innerHeight) return `out of sight: ${name}`;
    return outlineStyle === 'none' ? `no focus shown: ${name}` : null;
  });
}

/** Returns what is wrong with the way of Tab through the page: stops that show no focus, or that cannot be seen. */
async function faultsOfTabs(page: Page): Promise<string[]> {
  const faults = new Set<string>();
  for (let stop = 0; stop < MOST_TABS; stop++) {
    await page.keyboard.press('Tab');
    // A page scrolls to the stop in one of its next frames.
    let fault = await faultOfStop(page);
    if (fault !== null) {
      await page.waitForTimeout(200);
      fault = await faultOfStop(page);
    }
    if (fault !== null) faults.add(fault);
  }
  return [...faults];
}

interface Look {
  name: string;
  view: View;
  size: (typeof SIZES)[number];
  setting: (typeof SETTINGS)[number];
}

/** Opens a page and returns all that is wrong with it. */
async function faultsOf({ name, view: { path, step, cookie }, size, setting }: Look): Promise<string[]> {
  const [width, height] = size;
  const { colorScheme, locale, javaScriptEnabled } = setting;
  const viewport = { width, height };
  const visit = await browser.visit(server.url, { viewport, reducedMotion: 'reduce', ...setting });
  const { page, faults, foreign } = visit;
  if (cookie) {
    const own = { name: 'picpool_admin', value: cookie, url: `${server.url}/admin` };
    await page.context().addCookies([own]);
  }
  await page.goto(server.url + path, { waitUntil: 'load' });
  await step?.(page);
  const wide = await overflowOf(page);
  const kind = locale === 'en' ? (javaScriptEnabled ? colorScheme : 'plain') : locale;
  if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}-${width}-${kind}.png`) });
  const found = [
    // axe is a script as well.
    ...(javaScriptEnabled ? await violationsOf(page) : []),
    ...(locale === 'en' && colorScheme === 'light' ? await faultsOfTabs(page) : []),
    ...(wide > 0 ? [`${wide} pixels too wide`] : []),
    ...faults.filter((fault) => !INTENDED.test(fault)),
    ...foreign,
  ];
  await visit.close();
  return found;
}

const asked = Object.entries(views).filter(
  ([name]) => positionals.length === 0 || positionals.some((one) => name.startsWith(one)),
);
const looks = asked.flatMap(([name, view]) =>
  SIZES.flatMap((size) =>
    SETTINGS.filter(({ javaScriptEnabled }) => javaScriptEnabled || view.step === undefined).map(
      (setting): Look => ({ name, view, size, setting }),
    ),
  ),
);
let found = 0;
try {
  for (const look of looks) {
    const faults = await faultsOf(look);
    const { name, size, setting } = look;
    for (const fault of faults) console.log(name, size[0], ...Object.values(setting), fault);
    found += faults.length;
  }
} finally {
  await browser.close();
  await server.stop();
  await scanner.stop(true);
  await rm(folder, { recursive: true, force: true });
}
console.log(`${looks.length} looks, ${found} findings`);
process.exitCode = found === 0 ? 0 : 1;
