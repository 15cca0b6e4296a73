import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContextOptions, chromium } from 'playwright-core';

/**
 * Debian's build without the windows around a page, which nobody sees here: a visit takes a third less of the processor than in
 * the whole browser, with the same engine.
 */
const EXECUTABLE = '/usr/bin/chromium-headless-shell';

/** Allows for a busy machine; a test may take a minute. */
const PATIENCE_MS = 45_000;

/** It contacts nobody on the internet, and needs neither a screen nor a sandbox. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/**
 * Starts the real browser. Rejects if there is none, because nothing else proves what a person sees. `hosts`: names,
 * and the addresses at which the browser finds them.
 */
export async function startBrowser(hosts: Record<string, string> = {}) {
  const home = await mkdtemp(join(tmpdir(), 'picpool-browser-'));
  const rules = Object.entries(hosts).map(([name, address]) => `MAP ${name} ${address}`);
  const browser = await chromium.launch({
    executablePath: EXECUTABLE,
    headless: true,
    args: [...FLAGS, `--host-resolver-rules=${rules.join(',')}`],
    env: { ...process.env, HOME: home },
  });
  return {
    browser,
    /** Opens a page in a fresh context, as a visitor who was never here, and collects everything that failed or was requested elsewhere. */
    async visit(origin: string, options: BrowserContextOptions = {}) {
      const context = await browser.newContext(options);
      const faults: string[] = [];
      const foreign: string[] = [];
      context.on('weberror', (error) => faults.push(error.error().message));
      context.on('console', (message) => {
        if (message.type() === 'error') faults.push(`${message.text()} (${message.location().url})`);
      });
      context.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(`${origin}/`) && !/^(blob|data|about):/.test(url)) foreign.push(url);
      });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      return {
        page,
        context,
        /** Errors on the console, violations of the content security policy, exceptions. */
        faults,
        /** Requests to other origins. */
        foreign,
        close: () => context.close(),
      };
    },
    async close() {
      await browser.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

export type TestBrowser = Awaited<ReturnType<typeof startBrowser>>;
