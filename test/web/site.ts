import { afterAll, beforeAll, expect } from 'bun:test';
import { startBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { json } from '../support/json.ts';
import { LIGHT, type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { createVisitor } from './visitor.ts';

/** What a server has that refuses nobody, besides its `settings`. */
export const SITE = { ...LIGHT, RATE_LIMITS: 'off' };

/** A server and a browser, from the beginning of a file of tests to its end. `hosts`: names that lead the browser to addresses. */
export function startSite(settings: Record<string, string> = {}, hosts: Record<string, string> = {}) {
  let server: ServerProcess;
  let browser: TestBrowser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([
      startServer('bun', { ...SITE, ...settings }),
      startBrowser(hosts),
    ]);
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    expect(await server?.stop()).toBe(0);
  });
  const visitBy = (origin: () => string) => createVisitor(() => browser, origin);
  return {
    get url() {
      return server.url;
    },
    get browser() {
      return browser;
    },
    get folder() {
      return server.folder;
    },
    visit: visitBy(() => server.url),
    /** Uploads a picture by the API. */
    async upload(query: string, bytes: Uint8Array, headers: Record<string, string> = {}) {
      const init = { method: 'POST', body: new Uint8Array(bytes), headers };
      const answer = await fetch(`${server.url}/api/upload?${query}`, init);
      expect([201, 202]).toContain(answer.status);
      return json<{ id: string; url: string; raw_url: string; delete_token: string }>(answer);
    },
    /** Visits by another origin. */
    visitBy,
  };
}
