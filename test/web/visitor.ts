import { expect } from 'bun:test';
import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { TestBrowser } from '../support/browser/browser.ts';

export interface VisitOptions extends BrowserContextOptions {
  /** Faults that are part of the test, such as the 401 of a page that needs a password. */
  expected?: RegExp;
}

/** Visits a path in a fresh context and expects that nothing goes wrong or elsewhere while the work is done. */
export type Visitor = (
  path: string,
  work: (page: Page) => Promise<void>,
  options?: VisitOptions,
) => Promise<void>;

export function createVisitor(browser: () => TestBrowser, origin: () => string): Visitor {
  return async (path, work, { expected, ...options } = {}) => {
    const visit = await browser().visit(origin(), options);
    try {
      await visit.page.goto(origin() + path);
      await work(visit.page).catch((error) => {
        // They may be why something did not come.
        console.error('faults of the page:', visit.faults);
        throw error;
      });
      expect(visit.faults.filter((fault) => !expected?.test(fault))).toEqual([]);
      expect(visit.foreign).toEqual([]);
    } finally {
      await visit.close();
    }
  };
}

/** Uploads one picture on the home page. */
export async function uploadOne(page: Page, file: { name: string; mimeType: string; buffer: Buffer }) {
  await page.setInputFiles('#file', file);
  await page.getByRole('heading', { name: 'Your picture is online' }).waitFor();
}

/** Screens that every page is looked at on besides the one it was opened on. */
const WIDER = [768, 1440];
/** The rules of axe that depend on where things are. */
const LAID_OUT = ['target-size', 'scrollable-region-focusable'];

/** What a page must be, whatever is on it. `painted`: false where the page is not as it was loaded. */
export async function checkLooks(page: Page, { painted = true } = {}): Promise<void> {
  if (painted) await checkPaint(page);
  const size = page.viewportSize();
  // A colour on its way may have too little contrast, and far from the screen it never arrives.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await drawn(page);
  expect(await overflowOf(page)).toBe(0);
  expect(await seriousFaults(page)).toEqual([]);
  // Only colours change in the dark.
  await page.emulateMedia({ colorScheme: 'dark' });
  await drawn(page);
  expect(await seriousFaults(page, ['color-contrast'])).toEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
  for (const width of WIDER) {
    await page.setViewportSize({ width, height: 900 });
    await drawn(page);
    expect(await overflowOf(page)).toBe(0);
    expect(await seriousFaults(page, LAID_OUT)).toEqual([]);
  }
  if (size) await page.setViewportSize(size);
}

/** Of what a first paint waits for besides the page itself. */
const MOST_STYLE_BYTES = 10_000;

/** What must hold of the first paint of a page as it was loaded. */
async function checkPaint(page: Page): Promise<void> {
  // All is loaded; the events of a refresh never end, so no page waits for a silent network.
  await page.waitForLoadState('load');
  const { blocking, shift } = await paintOf(page);
  // How long it takes is measured by bench/pages.ts; here counts what it takes.
  const [shared, own, ...others] = blocking;
  expect(shared?.name).toMatch(/\/assets\/\w+\/style\.css$/);
  if (own) expect(own.name).toMatch(/\/assets\/\w+\/(admin|docs|proxies)\.css$/);
  expect(others).toEqual([]);
  expect((shared?.bytes ?? 0) + (own?.bytes ?? 0)).toBeLessThan(MOST_STYLE_BYTES);
  expect(shift).toBeLessThan(0.02);
}

/** Resolves when the page is drawn again. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  });
}

/** What axe finds on the page that is serious or worse, with the elements. */
async function seriousFaults(page: Page, rules?: string[]): Promise<string[]> {
  // Scripts of a page are allowed from the server alone, so it comes in by the debugger and not as an element.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async (rules) => {
    const engine = (globalThis as unknown as { axe: typeof axe }).axe;
    // WCAG 2.2's rule of targets is off unless it is asked for.
    const choice = rules ? { runOnly: rules } : { rules: { 'target-size': { enabled: true } } };
    return engine.run(document, { resultTypes: ['violations'], ...choice });
  }, rules);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
}

/** What had to come before anything was painted, and how much has moved by itself since. */
function paintOf(page: Page): Promise<{ blocking: { name: string; bytes: number }[]; shift: number }> {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    const observer = new PerformanceObserver(() => {});
    observer.observe({ type: 'layout-shift', buffered: true });
    const shifts = observer.takeRecords() as (PerformanceEntry & {
      value: number;
      hadRecentInput: boolean;
    })[];
    const files = performance.getEntriesByType('resource') as (PerformanceResourceTiming & {
      renderBlockingStatus: string;
    })[];
    return {
      blocking: files
        .filter(({ renderBlockingStatus }) => renderBlockingStatus === 'blocking')
        .map(({ name, encodedBodySize }) => ({ name, bytes: encodedBodySize })),
      // What a visitor has just asked for may move things.
      shift: shifts.reduce((sum, { value, hadRecentInput }) => sum + (hadRecentInput ? 0 : value), 0),
    };
  });
}

/** How many pixels the page is wider than the window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Begins to count how much moves on the page without anybody having asked for it. */
export async function watchShifts(page: Page): Promise<void> {
  await page.evaluate(() => {
    const shifts = { sum: 0 };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { value, hadRecentInput } = entry as PerformanceEntry & {
          value: number;
          hadRecentInput: boolean;
        };
        if (!hadRecentInput) shifts.sum += value;
      }
    }).observe({ type: 'layout-shift', buffered: true });
    Object.assign(globalThis, { shifts });
  });
}

/** What has moved since the page was loaded, as CLS counts it, all in one window. */
export async function shiftsOf(page: Page): Promise<number> {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    return (globalThis as unknown as { shifts: { sum: number } }).shifts.sum;
  });
}
