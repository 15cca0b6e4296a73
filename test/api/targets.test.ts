import { afterEach, beforeEach, expect, test } from 'bun:test';
import { proxyKeyOf } from '../../src/proxy/targets/site.ts';
import { createTargets } from '../../src/proxy/targets/targets.ts';
import { createTestimony } from '../../src/proxy/targets/testimony.ts';
import { json } from '../support/json.ts';
import { draft, endpointOf } from '../support/pool/pool.ts';
import { createPoolServer, type PoolServer } from '../support/pool/server.ts';
import { createRandom } from '../support/random.ts';

const ADMIN = 'a-token-of-some-length';
const NAMED = [{ name: 'search', url: 'https://www.example.com/x', statuses: [204] }];

interface Page {
  proxies: { id: number; ip: string }[];
}

let server: PoolServer;
beforeEach(async () => {
  server = await createPoolServer({ adminToken: ADMIN, named: NAMED });
});
afterEach(() => server.close());

const url = (n: number) => `http://192.0.2.${n}:80`;

/** `count` proxies, the first the most dependable. */
async function savePool(count: number): Promise<void> {
  const now = server.clock.now();
  const drafts = Array.from({ length: count }, (_, n) => draft(url(n + 1), now, { uptime: 0.9 - n * 0.001 }));
  await server.store.save(drafts);
}

async function idsOf(path: string): Promise<number[]> {
  const { proxies } = await server.get<Page>(path);
  return proxies.map(({ id }) => id);
}

function observe(site: string, n: number, results: string): void {
  for (const result of results) server.sites.observe(site, proxyKeyOf(endpointOf(url(n))), result === '+');
}

test('when each proxy fails for a third of ten sites, 200 results put ten first that work for a site', async () => {
  const random = createRandom(11);
  await savePool(100);
  let good = 0;
  let plain = 0;
  for (let site = 0; site < 10; site++) {
    const name = `site-${site}.example`;
    const blocked = new Set(Array.from({ length: 100 }, (_, n) => n + 1).filter(() => random() < 1 / 3));
    for (let n = 0; n < 200; n++) {
      const drawn = Array.from({ length: 100 }, (_, index) => index + 1).map((proxy) => ({
        proxy,
        worth: server.sites.draw(name, proxyKeyOf(endpointOf(url(proxy))), 0.9),
      }));
      const { proxy } = drawn.reduce((one, other) => (other.worth > one.worth ? other : one));
      observe(name, proxy, !blocked.has(proxy) && random() < 0.95 ? '+' : '-');
    }
    const works = async (path: string) =>
      (await server.get<Page>(path)).proxies.filter(({ ip }) => !blocked.has(Number(ip.split('.')[3])))
        .length;
    good += await works(`/api/v1/proxies?limit=10&target=www.${name}`);
    plain += await works('/api/v1/proxies?limit=10');
  }
  expect(good).toBeGreaterThanOrEqual(95);
  expect(plain).toBeLessThan(75);
});

test('pages of one order follow each other, and the export is in the same order', async () => {
  await savePool(60);
  observe('example.com', 50, '++++++');
  observe('example.com', 1, '------');
  observe('example.com', 30, '+-+-+-');
  const pages = await Promise.all(
    [0, 20, 40].map((offset) => idsOf(`/api/v1/proxies?limit=20&offset=${offset}&target=example.com`)),
  );
  const all = pages.flat();
  expect(new Set(all).size).toBe(60);
  expect(all[0]).toBe(50);
  expect(all.at(-1)).toBe(1);
  const text = await (
    await server.send('/api/export?format=text&target=https://www.example.com/page')
  ).text();
  expect(text.trim().split('\n')).toEqual(all.map((id) => `192.0.2.${id}:80`));
});

test('filters, counts and unique exits also work in the order of a target', async () => {
  const now = server.clock.now();
  await server.store.save([
    draft(url(1), now, { uptime: 0.9, country: 'DE', exitIp: '192.0.2.99', proof: 'tls' }),
    draft(url(2), now, { uptime: 0.8, country: 'DE', exitIp: '192.0.2.99', proof: 'tls' }),
    draft(url(3), now, { uptime: 0.7, country: 'FR' }),
    draft(url(4), now, { uptime: 0.7, status: 'dead' }),
  ]);
  for (const n of [2, 3, 4]) observe('example.com', n, '+++++');
  expect(await server.get<object>('/api/v1/proxies?target=example.com&country=de&limit=1')).toMatchObject({
    total: 2,
    count: 1,
    proxies: [{ id: 2 }],
    query: { target: 'example.com', country: 'DE' },
  });
  expect(await idsOf('/api/v1/proxies?target=example.com')).toEqual([2, 3, 1]);
  expect(await server.get<object>('/api/v1/proxies?target=example.com&unique=exit_ip')).toMatchObject({
    total: 2,
  });
});

test('a target can be a name that the operator chose, a domain or a URL; anything else is an error', async () => {
  await savePool(3);
  observe('example.com', 3, '+++');
  for (const target of [
    'search',
    'SEARCH',
    'example.com',
    'mail.example.com:443',
    'http://example.com/a?b=c',
  ]) {
    const [first] = await idsOf(`/api/v1/proxies?target=${encodeURIComponent(target)}`);
    expect([target, first]).toEqual([target, 3]);
  }
  for (const path of ['/api/v1/proxies?target=nonsense', '/api/export?target=nonsense']) {
    const answer = await server.send(path);
    expect([answer.status, (await json<{ error: string }>(answer)).error]).toEqual([
      400,
      'target must be a domain such as example.com, or one of search.',
    ]);
  }
});

test('an answer in the order of a target is not kept, as it changes without the pool', async () => {
  await savePool(2);
  const path = '/api/v1/proxies?target=example.com';
  expect(await idsOf(path)).toEqual([1, 2]);
  observe('example.com', 1, '---');
  expect(await idsOf(path)).toEqual([2, 1]);
  expect((await server.send(path)).headers.get('cache-control')).toBe('no-store');
});

const tokenOf = (name: string) =>
  server.tokens.create({ name, role: 'gateway', rate: null, quota: null }).then((token) => ({
    authorization: `Bearer ${token}`,
  }));
const REPORT = { ok: false, target: 'https://www.example.org/page' };
const ORDER = '/api/v1/proxies?target=example.org';

test('reports without a token do not count for the target, and those of the administrator count for all', async () => {
  await savePool(2);
  await server.post('/api/proxy/1/report', REPORT);
  expect(server.testimony.all().size).toBe(0);
  await server.post('/api/proxy/1/report', REPORT, { authorization: `Bearer ${ADMIN}` });
  expect(server.sites.facts('example.org')?.pairs.get('http://192.0.2.1:80')).toEqual({ good: 0, bad: 1 });
  expect(await idsOf(ORDER)).toEqual([2, 1]);
});

test('a report may use the name that the operator chose', async () => {
  await savePool(2);
  await server.post(
    '/api/proxy/1/report',
    { ok: false, target: 'Search' },
    { authorization: `Bearer ${ADMIN}` },
  );
  expect(await idsOf('/api/v1/proxies?target=search')).toEqual([2, 1]);
});

test('reports with a token count for its holder alone, until another one reports the same', async () => {
  await savePool(2);
  const [one, other] = [await tokenOf('one'), await tokenOf('other')];
  const idsFor = async (headers: Record<string, string>) =>
    (await server.get<Page>(ORDER, headers)).proxies.map(({ id }) => id);
  for (let n = 0; n < 20; n++) await server.post('/api/proxy/1/report', REPORT, one);
  expect([await idsFor(one), await idsFor(other), await idsOf(ORDER)]).toEqual([
    [2, 1],
    [1, 2],
    [1, 2],
  ]);
  const exported = async (headers: Record<string, string>) =>
    (await server.send(ORDER.replace('v1/proxies?', 'export?format=text&'), { headers })).text();
  expect(await exported(one)).toStartWith('192.0.2.2:80');
  expect(await exported(other)).toStartWith('192.0.2.1:80');
  await server.post('/api/proxy/1/report', REPORT, other);
  expect(await idsOf(ORDER)).toEqual([2, 1]);
  // What one of them repeats counts no more.
  for (let n = 0; n < 20; n++) await server.post('/api/proxy/1/report', REPORT, one);
  expect(server.sites.facts('example.org')).toMatchObject({ good: 0, bad: 1.95 });
});

/** Reads what is kept, as another process would. */
async function afterRestart() {
  const testimony = createTestimony({ random: Math.random, monotonic: () => 0, shared: true });
  const targets = createTargets({ ...server.kept, testimony });
  targets.start();
  await targets.stop();
  const [{ id } = { id: '' }] = await server.tokens.list();
  const witness = testimony.facts({ id, speaksForAll: false }, 'example.org');
  return { known: targets.known().map(({ site }) => site), witness };
}

test('the administrator sees what a single user has used, and it outlasts a restart', async () => {
  await savePool(2);
  const token = await tokenOf('one');
  await server.post('/api/proxy/1/report', REPORT, token);
  const admin = { authorization: `Bearer ${ADMIN}` };
  const used = { total: 2, targets: [{ name: 'search' }, { site: 'example.org', proxies: 1, success: 0 }] };
  expect(await server.get<object>('/api/targets', admin)).toMatchObject(used);
  expect(await server.get<object>('/api/targets')).toMatchObject({ total: 1 });
  await server.targets.stop();
  const { known, witness } = await afterRestart();
  expect(known).toEqual(['example.com', 'example.org']);
  expect(witness?.pairs.get('http://192.0.2.1:80')).toEqual({ good: 0, bad: 1 });
});

test('everybody sees the targets of the operator, and the administrator alone those of users', async () => {
  observe('example.com', 1, '++-');
  observe('example.com', 2, '-');
  observe('private.example', 1, '+');
  const ours = {
    name: 'search',
    site: 'example.com',
    url: 'https://www.example.com/x',
    proxies: 2,
    working: 1,
    success: 0.474,
  };
  expect(await server.get<object>('/api/targets')).toEqual({
    success: true,
    total: 1,
    count: 1,
    targets: [ours],
  });
  const all = await server.get<object>('/api/targets?limit=1&offset=1', { authorization: `Bearer ${ADMIN}` });
  expect(all).toMatchObject({
    total: 2,
    count: 1,
    targets: [{ name: null, url: null, site: 'private.example' }],
  });
});
