import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type Asker, createAsker } from '../../src/proxy/targets/ask.ts';
import { createProbes, PROBE_GAP_MS } from '../../src/proxy/targets/probes.ts';
import { proxyKeyOf } from '../../src/proxy/targets/site.ts';
import { createSites } from '../../src/proxy/targets/sites.ts';
import { type GatewayWorld, startGatewayWorld } from '../support/gateway/world.ts';
import { createPool, draft, endpointOf } from '../support/pool/pool.ts';

let pool: Awaited<ReturnType<typeof createPool>>;
beforeEach(async () => {
  pool = await createPool();
});
afterEach(() => pool.close());

const NAMED = [{ name: 'search', url: 'https://www.example.com/x', statuses: [200, 204] }];
const url = (n: number) => `https://192.0.2.${n}:80`;

/** A copy of the server, and what it asks through which proxy. */
function createCopy(answer: (ip: string) => number | null, mayAsk = () => true) {
  const sites = createSites({ random: Math.random });
  const asked: string[] = [];
  const { store, state, locks, clock } = pool;
  const probes = createProbes({
    named: NAMED,
    store,
    state,
    locks,
    sites,
    ask: async ({ ip }) => {
      asked.push(ip);
      return answer(ip);
    },
    mayAsk,
    now: clock.now,
  });
  const pairOf = (n: number) => sites.facts('example.com')?.pairs.get(proxyKeyOf(endpointOf(url(n))));
  return { probes, sites, asked, pairOf };
}

async function save(count: number): Promise<void> {
  const now = pool.clock.now();
  const drafts = Array.from({ length: count }, (_, n) => draft(url(n + 1), now, { uptime: 0.9 - n / 1000 }));
  await pool.store.save([
    ...drafts,
    draft('http://198.51.100.1:80', now),
    draft('https://198.51.100.2:80', now, { proof: 'echoed' }),
    draft('https://198.51.100.3:80', now, { status: 'dead' }),
  ]);
}

test('working, proven proxies that can reach the target take turns, one per interval, however many copies there are', async () => {
  await save(3);
  const copies = [createCopy(() => 200), createCopy(() => 200)];
  for (let round = 0; round < 3; round++) {
    await Promise.all(copies.map(({ probes }) => probes.round()));
    await Promise.all(copies.map(({ probes }) => probes.round()));
    await pool.clock.advance(PROBE_GAP_MS);
  }
  const asked = copies.flatMap((copy) => copy.asked);
  expect(asked).toHaveLength(3);
  expect(asked.every((ip) => ip.startsWith('192.0.2.'))).toBe(true);
  const alone = createCopy(() => 200);
  for (let round = 0; round < 6; round++) {
    await alone.probes.round();
    await pool.clock.advance(PROBE_GAP_MS);
  }
  expect(alone.asked).toEqual([1, 2, 3, 1, 2, 3].map((n) => `192.0.2.${n}`));
});

test('the statuses in the setting are good, all others are bad', async () => {
  await save(2);
  const { probes, pairOf } = createCopy((ip) => (ip.endsWith('.1') ? 204 : 403));
  for (let round = 0; round < 2; round++) {
    await probes.round();
    await pool.clock.advance(PROBE_GAP_MS);
  }
  expect([pairOf(1), pairOf(2)]).toEqual([
    { good: 1, bad: 0 },
    { good: 0, bad: 1 },
  ]);
});

test('when nothing responds any more, our own network is to blame, and while it is down, nothing is tried', async () => {
  await save(40);
  const { probes, sites, asked } = createCopy(() => null);
  for (let round = 0; round < 40; round++) {
    await probes.round();
    await pool.clock.advance(PROBE_GAP_MS);
  }
  expect(asked).toHaveLength(40);
  expect(sites.facts('example.com')?.pairs.size).toBe(8);
  const down = createCopy(
    () => 200,
    () => false,
  );
  await down.probes.round();
  expect(down.asked).toEqual([]);
});

test('a probe returns the status of the target through a real proxy, and null through one that fails', async () => {
  const world: GatewayWorld = await startGatewayWorld();
  const ca = await Bun.file(world.ca).text();
  const [asker, hasty] = [30_000, 1000].map((timeoutMs) =>
    createAsker({ timeoutMs, ca, monotonic: () => performance.now() }),
  ) as [Asker, Asker];
  const [http = '', socks = '', ...failing] = world.listOf('http', 'socks5', 'reset', 'login', 'hang');
  const through = (proxy: string, target: string, by = asker) =>
    by.ask(endpointOf(target.startsWith('https') ? proxy.replace(/^http:/, 'https:') : proxy), target);
  expect(await through(http, `${world.https}/broken`)).toBe(503);
  expect(await through(http, `${world.http}/`)).toBe(200);
  expect(await through(socks, `${world.https}/`)).toBe(200);
  expect(await Promise.all(failing.map((proxy) => through(proxy, `${world.https}/`, hasty)))).toEqual([
    null,
    null,
    null,
  ]);
  asker.close();
  hasty.close();
  await world.close();
});
