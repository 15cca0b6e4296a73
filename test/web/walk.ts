/**
 * Looks at every page at three widths, light and dark, in English and Chinese, with axe's rules of WCAG 2.2 AA
 * and of best practice, and by Tab. `bun run walk [FOLDER]`: FOLDER gets a screenshot of each.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { startBrowser } from '../support/browser.ts';
import { draw, SCENES } from '../support/scenes.ts';
import { seedGallery } from '../support/seeded-gallery.ts';
import { seedPool } from '../support/seeded-pool.ts';
import { startServer } from '../support/server-process.ts';
import { overflowOf } from './visitor.ts';

const SIZES = [
  [390, 844],
  [768, 1024],
  [1440, 900],
] as const;
const SCHEMES = ['light', 'dark'] as const;
const LOCALES = ['en', 'zh-CN'];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** More Tabs than this are not pressed on a page. */
const MOST_TABS = 60;

const shots = process.argv[2];
if (shots !== undefined) await mkdir(shots, { recursive: true });
const folder = await mkdtemp(join(tmpdir(), 'picpool-walk-'));
await seedPool(folder, Date.now(), 20_000);
await seedGallery(folder, Date.now(), 10_000);
const server = await startServer(
  'bun',
  { RATE_LIMITS: 'off', PROXY_ALLOW_PRIVATE: 'true', PROXY_SOURCES: 'http://127.0.0.1:9/' },
  folder,
);
const browser = await startBrowser();
const paths = {
  home: '/',
  gallery: '/gallery',
  nothing: '/gallery?q=nothing-like-this',
  picture: await upload(''),
  protected: await upload('&password=secret'),
  limited: await upload('&max_views=5'),
  proxies: '/proxies',
  faulty: '/proxies?range=30d&country=DE&uptime=x&status=dead',
  api: '/docs#uploadImage',
  missing: '/nowhere',
};

async function upload(options: string): Promise<string> {
  const picture = await draw(SCENES[0] as (typeof SCENES)[number]);
  const answer = await fetch(`${server.url}/api/upload?filename=walk.jpg${options}`, {
    method: 'POST',
    body: new Uint8Array(picture),
  });
  return `/i/${((await answer.json()) as { id: string }).id}`;
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

/** Returns what is wrong with the way of Tab through the page: stops that show no focus, or that cannot be seen. */
async function faultsOfTabs(page: Page): Promise<string[]> {
  const faults = new Set<string>();
  for (let stop = 0; stop < MOST_TABS; stop++) {
    await page.keyboard.press('Tab');
    const fault = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === null || element === document.body) return null;
      const target = element.closest('.chip, .dropzone') ?? element;
      const { outlineStyle } = getComputedStyle(target);
      const { bottom, top, width } = target.getBoundingClientRect();
      const name = `${element.tagName.toLowerCase()}.${element.className}#${element.id}`;
      if (width === 0 || bottom < 0 || top > innerHeight) return `out of sight: ${name}`;
      return outlineStyle === 'none' ? `no focus shown: ${name}` : null;
    });
    if (fault !== null) faults.add(fault);
  }
  return [...faults];
}

interface Look {
  name: string;
  path: string;
  width: number;
  height: number;
  colorScheme: (typeof SCHEMES)[number];
  locale: string;
}

/** Opens a page and returns all that is wrong with it. */
async function faultsOf({ name, path, width, height, colorScheme, locale }: Look): Promise<string[]> {
  const visit = await browser.visit(server.url, { viewport: { width, height }, colorScheme, locale });
  const { page, faults, foreign } = visit;
  await page.goto(server.url + path, { waitUntil: 'load' });
  const wide = await overflowOf(page);
  if (shots !== undefined && locale === 'en')
    await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`) });
  const found = [
    ...(await violationsOf(page)),
    ...(locale === 'en' && colorScheme === 'light' ? await faultsOfTabs(page) : []),
    ...(wide > 0 ? [`${wide} pixels too wide`] : []),
    // Some of the pages are errors by intention.
    ...faults.filter((fault) => !/status of 40[14]/.test(fault)),
    ...foreign,
  ];
  await visit.close();
  return found;
}

const looks = Object.entries(paths).flatMap(([name, path]) =>
  SIZES.flatMap(([width, height]) =>
    SCHEMES.flatMap((colorScheme) =>
      LOCALES.map((locale): Look => ({ name, path, width, height, colorScheme, locale })),
    ),
  ),
);
let found = 0;
try {
  for (const look of looks) {
    const faults = await faultsOf(look);
    for (const fault of faults)
      console.log(`${look.name} ${look.width} ${look.colorScheme} ${look.locale}: ${fault}`);
    found += faults.length;
  }
} finally {
  await browser.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
console.log(`${looks.length} looks, ${found} findings`);
process.exitCode = found === 0 ? 0 : 1;
