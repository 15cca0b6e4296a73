import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type ProxyWorld, startProxyWorld } from '../support/farm/proxy-world.ts';
import { curl } from '../support/gateway/world.ts';
import { cli } from '../support/servers/cli.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

let world: ProxyWorld;
let server: ServerProcess;
let gateway: string;
beforeAll(async () => {
  world = await startProxyWorld();
  const env = {
    ...world.env,
    HOST: '0.0.0.0',
    GATEWAY_PORT: '0',
    GATEWAY_PORTS: 'any',
    PROXY_TARGETS: `page=${world.page}#200`,
    PROXY_REFRESH_ON_START: 'true',
    GATEWAY_LOG: 'true',
    LOG_ADDRESSES: 'off',
    ADMIN_TOKEN: 'the-administrator',
  };
  server = await startServer('bun', env, undefined, ['sh', '-c', `exec "$0" "$@" >${log}`]);
  await until(() => /gateway +http:\/\/localhost:\d+/.test(server.stderr()));
  gateway = `127.0.0.1:${/gateway +\S+:(\d+)/.exec(server.stderr())?.[1]}`;
}, 180_000);
afterAll(async () => {
  await server.stop();
  await world.stop();
});
/** What the server has logged. */
const log = join(await sharedFolder(), 'log');

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

test('a session also keeps its exit over SOCKS', async () => {
  const peerOf = async (scheme: string, session: string) => {
    const proxy = `${scheme}://user-session-${session}:x@${gateway}`;
    return (await curl('-x', proxy, new URL('/peer', world.page).href)).out.toString();
  };
  const schemes = ['socks5h', 'http', 'socks5h', 'http', 'socks5h', 'socks5h'];
  for (const session of ['a1', 'a2', 'a3', 'a4']) {
    const seen = new Set<string>();
    for (const scheme of schemes) seen.add(await peerOf(scheme, session));
    expect([session, seen.size]).toEqual([session, 1]);
  }
});

test('options in the name of the user choose among the proxies, and wrong ones are explained', async () => {
  expect(await page('user-country-aq')).toMatch(/None of the \d+ proxies fits the options/);
  const tunnel = await curl('-x', `http://user-country-aq:x@${gateway}`, '-p', '-v', world.page);
  expect(tunnel.err).toMatch(/503 None of the \d+ proxies fits the options in the user name/);
  expect(tunnel.err).toContain('Proxy-Status: picpool; error=destination_unavailable;');
  expect(tunnel.err).toContain('X-Picpool-Error: no_upstream');
  const socks = await curl('-x', `socks5h://user-country-aq:x@${gateway}`, world.page);
  expect([socks.code, socks.err]).toEqual([97, expect.stringContaining('(3)')]);
  expect(await page('user-anonymity-elite')).toBe('a page');
  expect(await page('user-target-page')).toBe('a page');
  expect(await page('user-target-nowhere')).toContain('target in the user');
});

test('the page of the pool says how to use it, where only this machine can connect', async () => {
  const { out } = await curl('-H', 'Host: pool.example.org', `${server.url}/proxies`);
  expect(`${out}`).toContain(`curl -x http://localhost:${gateway.split(':')[1]} https://example.com/`);
  expect(`${out}`).toContain('only programs on the machine of the server can connect');
});

test('what traffic and probes have shown orders the list by target, and is shown', async () => {
  interface Targets {
    targets: { name: string; site: string; proxies: number; working: number }[];
  }
  await until(async () => {
    const { targets } = (await (await fetch(`${server.url}/api/targets`)).json()) as Targets;
    const [target] = targets;
    return (
      target !== undefined && target.name === 'page' && target.site === '127.0.0.1' && target.working >= 2
    );
  });
  const text = async (path: string) =>
    (await (await fetch(`${server.url}${path}`)).text()).trim().split('\n');
  const ordered = await text('/api/v1/proxies?format=standard&limit=500&target=page');
  expect(ordered.toSorted()).toEqual((await text('/api/v1/proxies?format=standard&limit=500')).toSorted());
  expect((await fetch(`${server.url}/api/v1/proxies?target=nowhere`)).status).toBe(400);
});

interface Told {
  counted?: boolean;
  exit?: string;
  moved?: boolean;
  rest_seconds?: number;
  requests?: object[];
  request?: { exit: string; proxy: number; session: string };
}

async function call(path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
  });
  return { status: response.status, told: (await response.json()) as Told };
}

test('without tokens, a program on this machine asks for its exit and reports it, and nobody else does', async () => {
  const head = await page('user-session-r', '-i');
  const [, exit = ''] = /X-Picpool-Exit: (\S+)/i.exec(head) ?? [];
  const [, id = ''] = /X-Picpool-Proxy: (\d+)/i.exec(head) ?? [];
  const last = await call('/api/gateway/last?session=r');
  expect(last.told.request).toMatchObject({ exit, proxy: Number(id), session: 'r' });
  const { told: proxy } = await call(`/api/proxy/${id}`);
  expect(proxy).toMatchObject({ id: Number(id) });
  const report = { session: 'r', target: world.page, ok: false, error: 'captcha', rest: '15m' };
  for (const header of ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'])
    expect((await call('/api/gateway/report', report, { [header]: '127.0.0.1' })).status).toBe(403);
  expect((await call('/api/gateway/report', report, { origin: 'https://other.example' })).status).toBe(403);
  // A page whose name points to this machine for a moment sends no Origin with a GET.
  expect((await call('/api/gateway/last', undefined, { host: 'other.example' })).status).toBe(403);
  // The administrator's program is one of this machine as well.
  const bearer = { authorization: 'Bearer the-administrator' };
  expect((await call('/api/gateway/last?session=r', undefined, bearer)).told.request).toMatchObject({ exit });
  expect((await call('/api/gateway/last?session=null')).status).toBe(404);
  expect((await call('/api/gateway/report', report)).told).toMatchObject({
    counted: true,
    exit,
    rest_seconds: 900,
    moved: true,
  });
  expect((await call('/api/gateway/report', { ...report, exit })).told.counted).toBe(false);
  expect(await page('user-session-r', '-i')).toContain('X-Picpool-Session: moved');
  const { told: refusal } = await call('/api/gateway/report', { ...report, rest: 'long' });
  expect(refusal).toMatchObject({ error: 'rest must be a time such as 15m, not "long".' });
  expect((await call('/api/gateway/report', { target: 'a.example', ok: false })).status).toBe(400);
  expect((await call('/api/gateway/requests')).status).toBe(401);
});

test('what happened is counted', async () => {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/picpool_gateway_exits\{state="trusted"\} [1-9]/);
  expect(metrics).toMatch(/picpool_gateway_exits\{state="shut_out"\} 1/);
  expect(metrics).toMatch(/picpool_gateway_exits_used [1-9]/);
  expect(metrics).toMatch(/picpool_gateway_requests_total\{kind="plain",outcome="served"\} [1-9]/);
});

test('each request leaves a line in the log without addresses of clients, and the administrator sees the latest', async () => {
  await until(async () => (await readFile(log, 'utf8')).includes('"session":"r"'));
  const lines = (await readFile(log, 'utf8')).split('\n').filter((line) => line.includes('gateway request'));
  const logged = JSON.parse(lines.find((line) => line.includes('"session":"r"')) ?? '{}') as object;
  expect(logged).toMatchObject({ site: '127.0.0.1', outcome: 'served', kind: 'plain' });
  expect(lines.filter((line) => line.includes('"peer"'))).toEqual([]);
  const bearer = { authorization: 'Bearer the-administrator' };
  const { told } = await call('/api/gateway/requests', undefined, bearer);
  expect(told.requests?.[0]).toMatchObject({ site: '127.0.0.1', outcome: 'served' });
});

test('with a token of the role nobody comes in without one, from the moment on that it is made', async () => {
  const env = { DATA_DIR: server.folder };
  const outside = `127.0.0.2:${gateway.split(':')[1]}`;
  expect((await curl('-x', `http://user:x@${outside}`, world.page)).code).toBe(7);
  const { stdout: token } = await cli(['token', 'create', 'reader', '--role', 'gateway'], { env });
  await cli(['token', 'create', 'other', '--role', 'upload'], { env });
  await until(
    async () => (await curl('-x', `http://user:${token.trim()}@${outside}`, world.page)).code === 0,
  );
  const now = await curl('-x', `http://user:wrong@${gateway}`, '-w', '%{http_code}', world.page);
  expect(now.out.toString()).toEndWith('407');
  // From an address of its own, which is then left alone.
  const guess = async (password = 'wrong') => {
    const more = ['--interface', '127.0.0.7', '-w', '%{http_code}'];
    return (await curl('-x', `http://user:${password}@${gateway}`, ...more, world.page)).out
      .toString()
      .slice(-3);
  };
  const guesses: string[] = [];
  for (let n = 0; n < 14; n++) guesses.push(await guess());
  expect(guesses.filter((status) => status === '407')).toHaveLength(10);
  expect(guesses.at(-1)).toBe('503');
  expect(await guess(token.trim())).toBe('200');
  // A program with an old password does not keep the administrator out, whose token cannot be guessed here.
  const administrate = async (token: string) => {
    const as = ['--interface', '127.0.0.7', '-H', `authorization: Bearer ${token}`];
    return (await curl(...as, new URL('/api/gateway/requests', server.url).href)).out.toString();
  };
  expect(JSON.parse(await administrate('the-mistyped'))).toMatchObject({ code: 'unauthorized' });
  expect(JSON.parse(await administrate('the-administrator'))).toMatchObject({ success: true });
  const bearer = { authorization: `Bearer ${token.trim()}` };
  expect((await call('/api/gateway/last')).status).toBe(401);
  const { exit } = (await call('/api/gateway/last', undefined, bearer)).told.request ?? {};
  const report = { exit, target: world.page, ok: false };
  expect((await call('/api/gateway/report', report)).status).toBe(401);
  expect((await call('/api/gateway/report', report, bearer)).told).toMatchObject({ counted: true, exit });
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
  // It listens on this machine only, whatever name the page was asked for by.
  const { out: shown } = await curl('-H', 'Host: pool.example.org', new URL('/proxies', closed.url).href);
  expect(shown.toString()).toContain(`curl -x http://user:TOKEN@localhost:${place.split(':')[1]} `);
  await closed.stop();
  const { stdout: listed } = await cli(['token', 'list'], { env });
  expect(listed).toMatch(/ reader .* used [1-9]\d* times, [\d.]+ [KMG]?B, last \d{4}-/);
  expect(listed).not.toMatch(/ other .* used/);
}, 180_000);

test('after SIGTERM nothing new comes in, what is on its way comes whole, and a quiet tunnel is not waited for', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const asked = new Set<string>();
  async function* answer() {
    yield 'begun, ';
    await ended;
    yield 'whole';
  }
  const fetch = ({ url }: Request) => asked.add(url) && new Response(answer());
  const target = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch });
  const env = { DATA_DIR: server.folder };
  const token = (await cli(['token', 'create', 'last', '--role', 'gateway'], { env })).stdout.trim();
  const through = ['-x', `http://user:${token}@${gateway}`];
  // A browser keeps it open after its last answer.
  const quiet = connect(Number(gateway.split(':')[1]), '127.0.0.1').on('error', () => {});
  const login = `Proxy-Authorization: Basic ${btoa(`user:${token}`)}`;
  quiet.write(
    `CONNECT ${target.url.host} HTTP/1.1\r\n${login}\r\n\r\nGET /quiet HTTP/1.1\r\nHost: a\r\n\r\n`,
  );
  const pages = [['plain'], ['tunnel', '-p']].map(([path, ...how]) =>
    curl(...through, ...how, `${target.url.href}${path}`),
  );
  await until(async () => asked.size === 3);
  server.kill('SIGTERM');
  await until(async () => (await curl(...through, world.page)).code === 7);
  end();
  const endedAt = performance.now();
  for (const { out } of await Promise.all(pages)) expect(out.toString()).toBe('begun, whole');
  expect(await server.exited).toBe(0);
  expect(performance.now() - endedAt).toBeLessThan(20_000);
  quiet.destroy();
  await target.stop(true);
}, 180_000);
