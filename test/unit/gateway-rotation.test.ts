import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { createCertificates } from '../support/certificates.ts';
import { type BareGateway, type BareOptions, startBareGateway } from '../support/gateway/bare.ts';
import { startGatewayClient } from '../support/gateway/clients.ts';
import { type FarmRole, startGatewayFarm } from '../support/gateway/farm.ts';
import { curl } from '../support/gateway/world.ts';
import { createRandom } from '../support/random.ts';
import { afterEachTest } from '../support/shared.ts';

const certificates = await createCertificates();
const closers = afterEachTest();

/** Targets that answer with the exit they see, and proxies with these roles. */
async function startWorld(roles: readonly FarmRole[], more: Partial<BareOptions> = {}) {
  const current = [...roles];
  const placeOf = (index: number) => `127.9.2.${index + 1}`;
  const farm = startGatewayFarm((address) => current[Number(address.split('.')[3]) - 1] ?? 'hang');
  let arrivals = 0;
  const options: Parameters<typeof Bun.serve>[0] = {
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, server) {
      arrivals++;
      const exit = farm.exitOf(server.requestIP(request)?.port ?? 0);
      return new Response(exit ?? 'nobody', { headers: { connection: 'close' } });
    },
  };
  const [http, https] = [Bun.serve(options), Bun.serve({ ...options, tls: certificates.good } as never)];
  const gateway = await startBareGateway({
    tcp: bunTcp,
    proxies: roles.map((_, index) => `${placeOf(index)}:${farm.port}`),
    limits: { random: createRandom(11) },
    ...more,
  });
  closers.push(() => {
    gateway.stop();
    farm.stop();
    http.stop(true);
    https.stop(true);
  });
  const client = startGatewayClient({ ca: certificates.ca, port: https.port ?? 0 });
  return {
    gateway,
    farm,
    placeOf,
    arrivals: () => arrivals,
    ask: (user = '') => client.ask(gateway, { user: user && `${user}:` }),
    get: (...options: string[]) => get(gateway, `http://example.com:${http.port}/`, options),
    turn: (place: string, role: FarmRole) => {
      current[Number(place.split('.')[3]) - 1] = role;
    },
  };
}

async function get({ port }: BareGateway, url: string, options: readonly string[]): Promise<string> {
  return (await curl('-x', `http://127.0.0.1:${port}`, ...options, url)).out.toString();
}

/** Opens a tunnel, of which nothing is sent yet. */
async function openTunnel({ port }: BareGateway, targetPort: number) {
  const socket = connect(port, '127.0.0.1');
  closers.push(() => socket.destroy());
  socket.on('error', () => {});
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`CONNECT example.com:${targetPort} HTTP/1.1\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  return { socket, ended };
}

function busiest(exits: readonly (string | null)[]): number {
  return Math.max(...[...Map.groupBy(exits, (exit) => exit).values()].map(({ length }) => length));
}

describe.each(['https', 'http'] as const)('over %s', (scheme) => {
  test('equal exits all get their share, from the first requests on', async () => {
    const world = await startWorld(Array.from({ length: 20 }, () => 'http'));
    const exits: (string | null)[] = [];
    for (let n = 0; n < 200; n++) exits.push(await (scheme === 'https' ? world.ask() : world.get()));
    expect(new Set(exits).size).toBeGreaterThanOrEqual(18);
    expect(busiest(exits)).toBeLessThanOrEqual(30);
    // Once all are known, none comes again before most others have come.
    const last = exits.slice(-40);
    expect(busiest(last)).toBeLessThanOrEqual(4);
    expect(world.arrivals()).toBeLessThanOrEqual(210);
  }, 60_000);
});

test('requests that are sent once get their share of exits that have passed a check, and risk no others', async () => {
  const [checked, unchecked] = [
    await startWorld(Array.from({ length: 20 }, () => 'http')),
    await startWorld(
      Array.from({ length: 20 }, (_, n) => (n === 0 ? 'http' : 'swallow')),
      { proven: false },
    ),
  ];
  const exits: string[] = [];
  for (let n = 0; n < 100; n++) exits.push(await checked.get('-d', 'x'));
  expect(new Set(exits).size).toBeGreaterThanOrEqual(18);
  while ((await unchecked.get()) !== unchecked.placeOf(0));
  for (let n = 0; n < 20; n++) expect(await unchecked.get('-d', 'x')).toBe(unchecked.placeOf(0));
}, 60_000);

test('rotate-fast keeps to the few that have won', async () => {
  const world = await startWorld(Array.from({ length: 20 }, () => 'http'));
  const exits: (string | null)[] = [];
  for (let n = 0; n < 60; n++) exits.push(await world.ask('u-rotate-fast'));
  expect(new Set(exits).size).toBeLessThan(12);
});

test('each session has an exit of its own while there are enough, whether they begin in turn or at once', async () => {
  // As many as all of these requests can try: on a busy machine each may have a second one join.
  const world = await startWorld(
    Array.from({ length: 100 }, () => 'http'),
    { limits: { random: createRandom(11), tries: 2 } },
  );
  const first: (string | null)[] = [];
  for (let n = 0; n < 6; n++) first.push(await world.ask(`u-session-a${n}`));
  // Some are known to work by now, and some not yet.
  for (let n = 0; n < 20; n++) await world.ask();
  const names = Array.from({ length: 24 }, (_, n) => `u-session-b${n}`);
  const second = await Promise.all(names.map((name) => world.ask(name)));
  expect(new Set([...first, ...second]).size).toBe(30);
  expect(await Promise.all(names.map((name) => world.ask(name)))).toEqual(second);
});

test('a session keeps its exit when that becomes slower than asked for, although no other exit fits', async () => {
  const world = await startWorld(['http']);
  const [exit] = world.gateway.engine.upstreams();
  for (const latencyMs of [400, 600]) {
    if (exit) world.gateway.engine.set({ ...exit, latencyMs });
    expect(await world.ask('u-session-a-max_latency-500')).toBe(world.placeOf(0));
  }
});

test('a page that proxies give to everything is never handed on, although several give it', async () => {
  const roles = Array.from({ length: 30 }, (_, n) => (n % 3 === 0 ? 'http' : 'portal') as FarmRole);
  const world = await startWorld(roles, { proven: false });
  const pages = await Promise.all(Array.from({ length: 20 }, () => world.get()));
  for (let n = 0; n < 40; n++) pages.push(await world.get());
  const posts = await startWorld(roles, { proven: false });
  pages.push(...(await Promise.all(Array.from({ length: 20 }, () => posts.get('-d', 'x')))));
  expect(pages.filter((page) => !page.startsWith('127.9.2.'))).toEqual([]);
  expect(world.arrivals()).toBeLessThanOrEqual(90);
});

test('an exit that has become a portal since its check serves few answers, and one that a site answers alike stays', async () => {
  let skippedMs = 0;
  const monotonic = () => performance.now() + skippedMs;
  const world = await startWorld(Array<FarmRole>(12).fill('helpful'), { monotonic });
  const gets = async (count: number) => {
    const pages: string[] = [];
    for (let n = 0; n < count; n++) pages.push(await world.get('-G', '-d', `n=${skippedMs}.${n}`));
    return pages;
  };
  // The page of each exit is the same for all URLs.
  await gets(40);
  expect(new Set(await gets(40)).size).toBe(12);
  for (const place of [0, 1, 2, 3].map(world.placeOf)) world.turn(place, 'portal');
  skippedMs = 2_000;
  const pages = await gets(100);
  expect(pages.filter((page) => !page.startsWith('127.9.2.')).length).toBeWithin(4, 13);
  expect(new Set(pages.slice(-40)).size).toBe(8);
}, 60_000);

test('a page whose proxy does not say in time what it answers about nothing is never handed on', async () => {
  const world = await startWorld(['coy', 'coy', 'coy'], { proven: false, limits: { timeoutMs: 500 } });
  expect(await world.get()).toStartWith('None of 3 proxies');
});

test('a proxy that answers everything with an error is not tried again and again', async () => {
  const roles = Array.from({ length: 20 }, (_, n) => (n < 10 ? 'http' : 'sick') as FarmRole);
  const world = await startWorld(roles, { proven: false });
  for (let n = 0; n < 150; n++) expect(await world.get()).toStartWith('127.9.2.');
  for (let n = 10; n < 20; n++) expect(world.farm.dials.get(world.placeOf(n)) ?? 0).toBeLessThanOrEqual(2);
}, 60_000);

test('no proxy is dialled for a tunnel to a port of the web before its client has spoken, however late', async () => {
  const world = await startWorld(['reset'], { limits: { idleMs: 4_000 } });
  const open = (port: number) => openTunnel(world.gateway, port);
  const dials = () => world.farm.dials.get(world.placeOf(0)) ?? 0;
  const late = await open(443);
  const silent = await open(443);
  // The beginning of a ClientHello, on whatever port, is waited for as well.
  (await open(5000)).socket.write(Buffer.from([22, 3, 1]));
  // Of this one, the gateway has to assume that its target speaks first.
  await (await open(5000)).ended;
  expect(dials()).toBe(1);
  late.socket.write('hello');
  await late.ended;
  await silent.ended;
  expect(dials()).toBe(2);
}, 20_000);

test('the time to an answer begins when the client of a tunnel speaks', async () => {
  let now = 0;
  const settled = Promise.withResolvers<string>();
  const world = await startWorld(['bare-stall'], { monotonic: () => now, onSettled: settled.resolve });
  const late = await openTunnel(world.gateway, 443);
  now += 5_000;
  late.socket.write('hello');
  expect(await settled.promise).toBe('served');
  expect(world.gateway.journal.latest()).toMatchObject([{ ms: 0 }]);
});

test('a tunnel that finds no proxy counts once', async () => {
  const outcomes: string[] = [];
  const world = await startWorld(['reset'], { onSettled: (outcome) => outcomes.push(outcome) });
  expect(await world.ask()).toBeNull();
  await world.gateway.empty();
  expect(outcomes).toEqual(['no_answer']);
});
