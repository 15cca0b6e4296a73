import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { SocksProxyAgent } from 'socks-proxy-agent';
import { absent } from '../support/absent.ts';
import { ADMIN, ADMIN_TOKEN } from '../support/admin.ts';
import { type Contract, loadContract } from '../support/documents/contract.ts';
import { type ProxyWorld, startProxyWorld } from '../support/farm/proxy-world.ts';
import { json } from '../support/json.ts';
import { eventsOf } from '../support/servers/events.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';

interface Proxy {
  id: number;
  ip: string;
  port: number;
  protocol: string;
  status: string;
  source: string;
  last_checked: string;
  response_time: number;
  country: string;
}

interface Job {
  id: string;
  state: string;
  stage: string;
  fetched: number;
  candidates: number;
  checked: number;
  alive: number;
}

describe
  .skipIf(absent('tinyproxy', 'microsocks', 'danted', 'openssl', 'curl'))
  .each(['bun', 'deno'] as const)('the proxy pool on %s', (runtime) => {
  let world: ProxyWorld;
  let server: ServerProcess;
  let contract: Contract;
  let stages: string[];
  let finished: Job;
  let grown: Promise<{ total: number }>;

  async function call(method: string, path: string, body?: unknown): Promise<Response> {
    const answer = await fetch(server.url + path, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
      }),
      headers: { ...ADMIN, ...(body !== undefined && { 'content-type': 'application/json' }) },
    });
    await contract.check(method, path.split('?')[0] ?? '', answer);
    return answer;
  }

  const get = async <T>(path: string) => json<T>(await call('GET', path));
  const listed = async (query = '') => (await get<{ proxies: Proxy[] }>(`/api/v1/proxies?${query}`)).proxies;
  const urlOf = ({ protocol, ip, port }: Proxy) => `${protocol}://${ip}:${port}`;

  /** Listens to the refresh from before it starts until it ends. */
  async function refreshToTheEnd(): Promise<{ stages: string[]; finished: Job }> {
    const events = await call('GET', '/api/refresh/events');
    const started = await call('POST', '/api/refresh');
    expect(started.status).toBe(202);
    const { job } = await json<{ job: Job }>(started);
    const seen: string[] = [];
    for await (const { data } of eventsOf<Job>(events)) {
      if (data.id !== job.id) continue;
      if (seen.at(-1) !== data.stage) seen.push(data.stage);
      if (data.state === 'done' || data.state === 'failed') return { stages: seen, finished: data };
    }
    throw new Error('the events ended before the refresh did');
  }

  /** What the first event about the size of the pool says. */
  async function firstPoolEvent(): Promise<{ total: number }> {
    const events = await call('GET', '/api/refresh/events?pool=true');
    for await (const { name, data } of eventsOf<{ total: number }>(events)) if (name === 'pool') return data;
    throw new Error('the events ended before one was about the pool');
  }

  beforeAll(async () => {
    world = await startProxyWorld();
    server = await startServer(runtime, { ...world.env, SERVICES: 'proxy', ADMIN_TOKEN, GATEWAY_PORT: '0' });
    contract = await loadContract(server.url);
    grown = firstPoolEvent();
    ({ stages, finished } = await refreshToTheEnd());
  }, 180_000);

  afterAll(async () => {
    const exitCode = await server?.stop();
    await world?.stop();
    expect(exitCode).toBe(0);
    expect(contract.untouched('Proxy pool')).toEqual([]);
  });

  test('a refresh goes through its stages in order and counts what it did', () => {
    const order = ['fetch', 'verify', 'store', 'cleanup'];
    expect(stages).toEqual(order.filter((stage) => stages.includes(stage)));
    expect(stages).toContain('fetch');
    expect(finished).toMatchObject({
      state: 'done',
      candidates: world.working.length + world.broken.length,
      checked: world.working.length + world.broken.length,
      alive: world.working.length,
    });
  });

  test('the list is its first page', async () => {
    const home = await fetch(`${server.url}/`);
    expect([home.status, new URL(home.url).pathname]).toEqual([200, '/proxies']);
  });

  test('no sites are shown if none was named', async () => {
    expect(await get('/api/targets')).toMatchObject({ success: true, targets: [] });
  });

  test('every list is reported, and the one that fails fails alone', async () => {
    const { sources } = await get<{ sources: { name: string; last_error: string | null }[] }>('/api/sources');
    const byName = new Map(sources.map((source) => [source.name, source]));
    for (const name of world.lists) expect(byName.get(name)).toMatchObject({ last_error: null });
    expect(byName.get(world.failingList)?.last_error).toBeString();
  });

  test('what works is listed alive, and what lies or hangs is not', async () => {
    expect((await listed('limit=500')).map(urlOf).sort()).toEqual([...world.working].sort());
    expect((await listed('status=dead')).map(urlOf).sort()).toEqual([...world.broken].sort());
  });

  test('an exported line is a proxy that curl can use', async () => {
    const exported = await call('GET', '/api/export');
    expect(exported.headers.get('content-disposition')).toStartWith('attachment');
    const lines = (await exported.text()).trim().split('\n');
    expect(lines.sort()).toEqual([...world.working].sort());
    for (const protocol of ['http', 'socks4', 'socks5']) {
      const line = lines.find((one) => one.startsWith(`${protocol}://127.2.`)) ?? '';
      const curl = Bun.spawn(['curl', '-s', '--noproxy', '', '-x', line, world.page], { stdout: 'pipe' });
      expect(await new Response(curl.stdout).text()).toBe('a page');
    }
  });

  test('an exported line is a proxy that client libraries take as it is', async () => {
    const lines = (await (await call('GET', '/api/export')).text()).trim().split('\n');
    const real = (protocol: string) => lines.find((one) => one.startsWith(`${protocol}://127.2.`)) ?? '';
    const fetched = await fetch(world.page, { proxy: real('http') });
    expect(await fetched.text()).toBe('a page');
    const agent = new SocksProxyAgent(real('socks5'));
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      httpGet(world.page, { agent }, resolve).on('error', reject);
    });
    expect((await Array.fromAsync(answer)).join('')).toBe('a page');
  });

  test('the statistics, the filters and the status agree with the list', async () => {
    const all = world.working.length + world.broken.length;
    expect(await get('/api/stats')).toMatchObject({ alive: world.working.length, total: all });
    expect(await get('/api/filters')).toMatchObject({
      protocols: ['http', 'https', 'socks4', 'socks5'],
      statuses: ['alive', 'dead'],
    });
    const status = await get<{ last_refresh: string; refresh: Job }>('/api/status');
    expect(status).toMatchObject({ status: 'running', condition: 'ready' });
    expect(status.last_refresh).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d$/);
    expect(status.refresh).toMatchObject({ state: 'done', id: finished.id });
    expect(await get('/api/refresh')).toMatchObject({ success: true, job: { id: finished.id } });
  });

  test('a client that also follows the pool gets its statistics when it has changed', async () => {
    const all = world.working.length + world.broken.length;
    const names = Object.keys(await grown);
    expect(names).toEqual(['alive', 'total', 'avg_response_time', 'countries']);
    expect((await grown).total).toBeWithin(1, all + 1);
  });

  test('the server is a judge for others', async () => {
    const answer = await get('/api/judge?token=abc');
    expect(answer).toMatchObject({ token: 'abc', address: '127.0.0.1', proof: expect.any(String) });
  });

  test('one proxy can be looked at, tested and reported', async () => {
    const [proxy] = await listed('protocol=http');
    if (!proxy) throw new Error('no proxy is listed');
    const shown = await get<Proxy>(`/api/proxy/${proxy.id}`);
    expect(shown).toMatchObject({ ip: proxy.ip, port: proxy.port, status: 'alive' });
    expect(shown.last_checked).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect((await call('POST', `/api/proxy/${proxy.id}/test`)).status).toBe(202);
    const report = { ok: false, target: 'https://example.com/cart', error: 'timeout' };
    expect((await call('POST', `/api/proxy/${proxy.id}/report`, report)).status).toBe(200);
    expect(await get(`/api/proxy/${proxy.id}`)).toMatchObject({
      status: 'alive',
      reports: [{ ok: false, target: 'example.com', error: 'timeout' }],
    });
  });

  test('the gateway takes reports of exits, and tells which it has used', async () => {
    const report = await call('POST', '/api/gateway/report', {
      session: 'unknown',
      target: 'example.com',
      ok: false,
    });
    expect(await json(report)).toMatchObject({ counted: false });
    expect((await call('GET', '/api/gateway/last?session=unknown')).status).toBe(404);
    expect(await get('/api/gateway/requests')).toMatchObject({ success: true, requests: [] });
  });

  test('a quick test tells the truth about a living and a dead one', async () => {
    const [alive] = await listed('protocol=socks5');
    const [dead] = await listed('status=dead&protocol=http');
    if (!alive || !dead) throw new Error('nothing is listed');
    const { id: proxy_id, ip, port, protocol } = alive;
    const passed = await call('POST', '/api/test_proxy_quick', { ip, port, protocol, proxy_id });
    expect(await json(passed)).toMatchObject({ success: true, alive: true, status: 'alive', error: null });
    const failed = await call('POST', '/api/test_proxy_quick', {
      ip: dead.ip,
      port: dead.port,
      proxy_id: dead.id,
    });
    expect(await json(failed)).toMatchObject({
      success: true,
      alive: false,
      status: 'dead',
      response_time: null,
    });
  });

  test.each([
    ['GET', '/api/v1/proxies?limit=0', undefined, 400],
    ['GET', '/api/proxy/999999', undefined, 404],
    ['POST', '/api/test_proxy_quick', {}, 400],
    ['DELETE', '/api/stats', undefined, 405],
  ] as const)('%s %s with %j is told what is wrong: %d', async (method, path, body, status) => {
    const answer = await call(method, path, body);
    expect(answer.status).toBe(status);
    expect(await json(answer)).toMatchObject({
      success: false,
      error: expect.any(String),
      code: expect.any(String),
    });
  });
});
