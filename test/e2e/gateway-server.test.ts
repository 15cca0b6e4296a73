import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cli } from '../support/cli.ts';
import { curl } from '../support/gateway-world.ts';
import { type ProxyWorld, startProxyWorld } from '../support/proxy-world.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { until } from '../support/services.ts';

let world: ProxyWorld;
let server: ServerProcess;
let gateway: string;
beforeAll(async () => {
  world = await startProxyWorld();
  server = await startServer('bun', {
    ...world.env,
    GATEWAY_PORT: '0',
    GATEWAY_PORTS: 'any',
    PROXY_REFRESH_ON_START: 'true',
  });
  await until(() => /gateway +http:\/\/localhost:\d+/.test(server.stderr()));
  gateway = `127.0.0.1:${/gateway +\S+:(\d+)/.exec(server.stderr())?.[1]}`;
}, 60_000);
afterAll(async () => {
  await server.stop();
  await world.stop();
});

async function page(user = 'user', ...more: string[]): Promise<string> {
  const { out, err } = await curl('-x', `http://${user}:x@${gateway}`, ...more, world.page);
  return out.toString() || err;
}

test('a page comes through the pool once the first proxies were found', async () => {
  await until(async () => (await page()) === 'a page');
});

test('the answer tells the exit, and a session keeps it over HTTP and CONNECT', async () => {
  const exits = new Set<string>();
  for (let round = 0; round < 6; round++) {
    const [, exit = ''] = /X-Picpool-Exit: (\S+)/i.exec(await page('user-session-a', '-i')) ?? [];
    exits.add(exit);
  }
  expect(exits.size).toBe(1);
  const { err } = await curl('-x', `http://user-session-a:x@${gateway}`, '-p', '-v', world.page);
  expect(err).toContain(`X-Picpool-Exit: ${[...exits][0]}`);
  expect(err).toContain('X-Picpool-Session: kept');
});

test('options in the name of the user choose among the proxies, and wrong ones are explained', async () => {
  expect(await page('user-country-aq')).toContain('No proxy that suits is known to work.');
  expect(await page('user-country-Germany')).toContain('country in the user');
  expect(await page('user-colour-red')).toContain('"colour" is no option');
  expect(await page('user-anonymity-elite')).toBe('a page');
});

test('browsers find their configuration, and the page of the pool says how to use it', async () => {
  const pac = await fetch(`${server.url}/proxy.pac`);
  expect(pac.headers.get('content-type')).toBe('application/x-ns-proxy-autoconfig');
  expect(await pac.text()).toContain(`return 'PROXY 127.0.0.1:${gateway.split(':')[1]}';`);
  const shown = await (await fetch(`${server.url}/proxies`)).text();
  expect(shown).toContain(`curl -x http://127.0.0.1:${gateway.split(':')[1]} https://example.com/`);
});

test('what happened is counted', async () => {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/picpool_gateway_requests_total\{kind="plain",outcome="served"\} [1-9]/);
});

test('with a token of the role nobody comes in without one', async () => {
  const env = { DATA_DIR: server.folder };
  const { stdout: token } = await cli(['token', 'create', 'reader', '--role', 'gateway'], { env });
  await cli(['token', 'create', 'other', '--role', 'upload'], { env });
  const closed = await startServer(
    'bun',
    { ...world.env, GATEWAY_PORT: '0', GATEWAY_PORTS: 'any' },
    server.folder,
  );
  const place = `127.0.0.1:${/gateway +\S+:(\d+)/.exec(closed.stderr())?.[1]}`;
  const refused = await curl('-x', `http://user:wrong@${place}`, '-w', '%{http_code}', world.page);
  expect(refused.out.toString()).toEndWith('407');
  await until(async () => {
    const { out } = await curl('-x', `http://user:${token.trim()}@${place}`, world.page);
    return out.toString() === 'a page';
  });
  await closed.stop();
}, 60_000);
