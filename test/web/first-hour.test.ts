import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { startBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { type ReadmeCommand, readmeCommands } from '../support/documents/commands.ts';
import { createReadmeShell } from '../support/documents/shell.ts';
import { openReadmeWorld, type ReadmeWorld } from '../support/documents/world.ts';

/** The address that the README names. */
const ADDRESS = 'http://localhost:3000';
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const isMissing = absent('tinyproxy', 'microsocks', 'danted', 'openssl', 'curl');

let folder: string;
let world: ReadmeWorld;
let browser: TestBrowser;
let start: ReadmeCommand;
let curl: ReadmeCommand;

/** A new user with a terminal in the clone, who types the commands of the README. The server fills its pool meanwhile. */
beforeAll(async () => {
  if (isMissing) return;
  const commands = readmeCommands(await readFile(new URL('../../README.md', import.meta.url), 'utf8'));
  const first = (pattern: RegExp) => commands.find(({ text }) => pattern.test(text)) as ReadmeCommand;
  start = first(/\/scripts\/start\b/);
  curl = first(/^curl -x /);
  folder = await mkdtemp(join(tmpdir(), 'picpool-first-hour-'));
  world = await openReadmeWorld(folder);
  await world.start(start.text);
  const { port } = new URL(world.env.PICPOOL_URL ?? '');
  browser = await startBrowser({ 'localhost:3000': `127.0.0.1:${port}` });
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await world?.close();
  if (folder) await rm(folder, { recursive: true });
});

test.skipIf(isMissing)('a request goes through a proxy of the pool after at most 3 actions', async () => {
  const actions = [start.text, curl.text];
  expect(await createReadmeShell(join(folder, 'here'), world).run(curl)).toBeNull();
  expect(actions.length).toBeLessThanOrEqual(3);
});

test.skipIf(isMissing)('a link is shared from a phone after at most 5 actions', async () => {
  const actions = [start.text];
  const act = <T>(action: string, work: Promise<T>): Promise<T> => {
    actions.push(action);
    return work;
  };
  const permissions = ['clipboard-read', 'clipboard-write'];
  const phone = await browser.visit(ADDRESS, { ...PHONE, permissions });
  const { page } = phone;
  await act('opens the address', page.goto(ADDRESS));
  const asked = page.waitForEvent('filechooser');
  await act('taps “Choose pictures”', page.locator('.dropzone label').tap());
  await act('picks one', (await asked).setFiles(join(folder, 'here', 'IMG_2041.jpg')));
  const copy = page.locator('.upload-card .copy-link');
  await copy.waitFor();
  expect(await copy.evaluate((button) => button.getBoundingClientRect().bottom <= innerHeight)).toBe(true);
  await act('taps “Copy link”', copy.tap());
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(phone.faults).toEqual([]);
  await phone.close();
  expect(actions.length).toBeLessThanOrEqual(5);

  const friend = await browser.visit(ADDRESS);
  await friend.page.goto(link);
  const picture = friend.page.locator('.frame img:not(.blur)');
  await picture.evaluate((img: HTMLImageElement) => img.decode());
  expect(await picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBeGreaterThan(0);
  await friend.close();
});
