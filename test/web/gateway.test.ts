import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { type PaidProxy, startPaidProxy } from '../support/farm/paid-proxy.ts';
import { type ProxyWorld, startProxyWorld } from '../support/farm/proxy-world.ts';
import { freePort } from '../support/free-port.ts';
import { curl } from '../support/gateway/world.ts';
import { cli } from '../support/servers/cli.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

const EXITS = { 'me:one': '127.9.1.1', 'me:two': '127.9.1.2', 'me:three': '127.9.1.3' };
const LISTS = ['first', 'second', 'third'];
const BROWSER_MS = 60_000;

let world: ProxyWorld;
let proxy: PaidProxy;
let server: ServerProcess;
let browser: TestBrowser;
let gateway: string;
/** A port on which every client is one of the second list. */
let fixed: number;
/** The same page over http and https, which says who asks. */
let pages: string[];
let secured: Bun.Server<undefined>;

beforeAll(async () => {
  world = await startProxyWorld();
  proxy = await startPaidProxy({ exits: EXITS });
  for (const [index, login] of Object.keys(EXITS).entries())
    await writeFile(join(folder, LISTS[index] ?? ''), `127.0.0.1:${proxy.port}:${login}\n`);
  secured = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: world.certificates.good,
    fetch: (request, own) => new Response(own.requestIP(request)?.address),
  });
  pages = [new URL('/peer', world.page).href, `https://127.0.0.1:${secured.port}/peer`];
  fixed = await freePort();
  server = await startServer('bun', {
    ...world.env,
    HOST: '0.0.0.0',
    PROXY_SOURCES: LISTS.map((name) => join(folder, name)).join(),
    GATEWAY_PORT: '0',
    GATEWAY_PORTS: 'any',
    GATEWAY_ASK: 'true',
    GATEWAY_LISTEN: `${fixed}=source-second-session-a`,
  });
  gateway = `127.0.0.1:${/gateway +\S+:(\d+)/.exec(server.stderr())?.[1]}`;
  browser = await startBrowser();
  for (const name of LISTS) {
    await until(async () =>
      (await curl('-x', `http://u-source-${name}:x@${gateway}`, pages[0] ?? '')).out
        .toString()
        .startsWith('127.9'),
    );
  }
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await secured?.stop(true);
  proxy?.stop();
  await world?.stop();
});
const folder = await sharedFolder();

/** What the pages say to a browser that has this proxy. */
async function visit(place: string, login: { username?: string; password?: string } = {}): Promise<string[]> {
  const settings = { server: `http://${place}`, bypass: '<-loopback>', ...login };
  const context = await browser.browser.newContext({ proxy: settings, ignoreHTTPSErrors: true });
  try {
    const page = await context.newPage();
    const said: string[] = [];
    for (const url of pages) {
      await page.goto(url);
      said.push((await page.textContent('body')) ?? '');
    }
    return said;
  } finally {
    await context.close();
  }
}

test(
  'a browser sends its options where the gateway asks for a login',
  async () => {
    for (const [name, exit] of [
      ['first', '127.9.1.1'],
      ['third', '127.9.1.3'],
    ])
      expect(await visit(gateway, { username: `u-source-${name}`, password: 'any' })).toEqual([
        exit,
        exit,
      ] as string[]);
  },
  BROWSER_MS,
);

test(
  'a client that sends no login has the options of the port, in a browser and in curl',
  async () => {
    expect(await visit(`127.0.0.1:${fixed}`)).toEqual(['127.9.1.2', '127.9.1.2']);
    for (const scheme of ['http', 'socks5h']) {
      const { out } = await curl('-x', `${scheme}://127.0.0.1:${fixed}`, pages[0] ?? '');
      expect(out.toString()).toBe('127.9.1.2');
    }
    const overridden = await curl('-x', `http://u-source-first:x@127.0.0.1:${fixed}`, pages[0] ?? '');
    expect(overridden.out.toString()).toBe('127.9.1.2');
  },
  BROWSER_MS,
);

test('without a login the answer is 407, but SOCKS has asked before', async () => {
  const asked = await curl('-x', `http://${gateway}`, '-i', pages[0] ?? '');
  expect(asked.out.toString()).toContain('407 Log in');
  expect(asked.out.toString()).toContain('Proxy-Authenticate: Basic');
  expect((await curl('-x', `socks5h://${gateway}`, pages[0] ?? '')).code).toBe(0);
});

test('options that do not exist keep the server from starting', async () => {
  const env = { GATEWAY_PORT: '0', GATEWAY_LISTEN: `${await freePort()}=country-germany` };
  const fault = await startServer('bun', { ...world.env, ...env }).then(
    () => 'started',
    (error: unknown) => String(error),
  );
  expect(fault).toMatch(/GATEWAY_LISTEN.*country in the user name must be the two-letter code/);
});

test(
  'the ports listen on loopback alone, until tokens are required, and then need one as well',
  async () => {
    const outside = `127.0.0.2:${fixed}`;
    expect((await curl('-x', `http://${outside}`, pages[0] ?? '')).code).toBe(7);
    const env = { DATA_DIR: server.folder };
    const { stdout: token } = await cli(['token', 'create', 'reader', '--role', 'gateway'], { env });
    const withToken = () => curl('-x', `http://u:${token.trim()}@${outside}`, pages[0] ?? '');
    await until(async () => (await withToken()).out.toString() === '127.9.1.2');
    for (const login of ['', 'u:wrong@']) {
      const { out } = await curl('-x', `http://${login}${outside}`, '-i', pages[0] ?? '');
      expect(out.toString()).toContain('HTTP/1.1 407 ');
    }
  },
  BROWSER_MS,
);
