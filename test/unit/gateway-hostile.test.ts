import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import type { Upstream } from '../../src/gateway/upstream.ts';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { createCertificates } from '../support/certificates.ts';
import { startBareGateway } from '../support/gateway/bare.ts';
import { clientHello } from '../support/gateway/client-hello.ts';
import { startGatewayClient } from '../support/gateway/clients.ts';
import { type FarmRole, startGatewayFarm, TRAITORS } from '../support/gateway/farm.ts';
import { createRandom } from '../support/random.ts';
import { afterEachTest } from '../support/shared.ts';

/** How long honest proxies take; traitors are always faster. */
const HONEST_MS = 5;
/** A client gives up a silent proxy after this time on the gateway's clock. */
const PATIENCE_MS = 2_000;

const certificates = await createCertificates();
const closers = afterEachTest();

async function startFarm(count: number, withTokens = false) {
  const target = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: certificates.good,
    fetch: () => new Response('ok'),
  });
  const roles = new Map<string, FarmRole>();
  const places = Array.from({ length: count }, (_, index) => `127.9.1.${index + 1}`);
  const refused = new Set<string>();
  let now = 0;
  let stalls = false;
  const client = startGatewayClient({ ca: certificates.ca, port: target.port ?? 0 });
  const farm = startGatewayFarm((address) => roles.get(address) ?? 'http', {
    delayOf: () => HONEST_MS,
    refuses: (address, authority) => authority.startsWith('attacker.example') && refused.has(address),
    onStall() {
      stalls = true;
    },
  });
  const gateway = await startBareGateway({
    tcp: bunTcp,
    proxies: places.map((address) => `${address}:${farm.port}`),
    withTokens,
    monotonic: () => now++,
    onSettled(outcome) {
      if (stalls && outcome === 'served') queueMicrotask(giveUp);
    },
    limits: { random: createRandom(5) },
  });
  closers.push(() => {
    gateway.stop();
    farm.stop();
    target.stop(true);
  });

  function giveUp(): void {
    stalls = false;
    now += PATIENCE_MS;
    client.giveUp();
  }

  async function failuresOf(requests: number, user = '', host = 'example.com'): Promise<number> {
    let failed = 0;
    for (let n = 0; n < requests; n++) {
      if (!(await client.ask(gateway, { user, host }))) failed++;
      await gateway.empty();
    }
    return failed;
  }
  return { gateway, farm, places, roles, refused, failuresOf, port: target.port };
}

describe.each([
  [1, 10],
  [3, 60],
])('%d hostile of %d proxies', (hostile, all) => {
  test.each(TRAITORS.flatMap((traitor) => [false, true].map((warm) => ({ traitor, warm }))))(
    'that are $traitor cost at most two requests each (after a good start: $warm)',
    async ({ traitor, warm }) => {
      const { gateway, places, roles, failuresOf } = await startFarm(all);
      if (warm) expect(await failuresOf(30)).toBe(0);
      for (const place of places.slice(0, hostile)) roles.set(place, traitor);
      const failed = await failuresOf(2 * all);
      expect(failed).toBeLessThanOrEqual(2 * hostile);
      const { requests, served } = gateway.meter.summary();
      if (['echo-close', 'echo-reset'].includes(traitor)) expect(requests - served).toBe(failed);
    },
    30_000,
  );
});

test('a site whose certificate nobody trusts takes no proxy from the others', async () => {
  const { gateway, failuresOf, port } = await startFarm(6);
  const hello = await clientHello();
  /** Shakes hands as far as the certificate, which it refuses. */
  const refuse = (host: string) =>
    new Promise<void>((resolve) => {
      const socket = connect(gateway.port, '127.0.0.1');
      const answers = [hello, Buffer.from([21, 3, 3, 0, 2, 2, 45])];
      socket.on('data', () => {
        socket.write(answers.shift() ?? '');
        if (answers.length === 0) socket.end();
      });
      socket.on('error', () => {}).on('close', () => resolve());
      socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\n\r\n`);
    });
  expect(await failuresOf(60)).toBe(0);
  const { trusted } = gateway.engine.exits();
  expect(trusted).toBeGreaterThanOrEqual(4);
  for (let n = 0; n < 20; n++) await refuse('one.example');
  await gateway.empty();
  expect(gateway.engine.exits().trusted).toBeGreaterThanOrEqual(trusted);
  expect(await failuresOf(10)).toBe(0);
});

test.each(['has died', 'speaks no TLS'])('a site that %s takes no proxy from the others', async (what) => {
  const { gateway, places, refused, failuresOf } = await startFarm(12);
  for (const place of places) refused.add(place);
  const plain = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('ok') });
  closers.push(() => plain.stop(true));
  const client = startGatewayClient({ ca: certificates.ca, port: plain.port ?? 0 });
  const host = what === 'has died' ? 'attacker.example' : 'plain.example';
  expect(await failuresOf(100)).toBe(0);
  const before = gateway.engine.exits();
  for (let round = 0; round < 20; round++) {
    expect(await client.ask(gateway, { host })).toBeNull();
    expect(await failuresOf(2)).toBe(0);
  }
  expect([before, gateway.engine.exits()]).toEqual(Array(2).fill({ trusted: 12, unproven: 0 }));
});

test('a prepared ServerHello is not credited for what the client had sent before it as early data', async () => {
  const { gateway, places, roles } = await startFarm(1);
  for (const place of places) roles.set(place, 'bare-stall');
  const record = (type: number, body: number[]) =>
    Buffer.concat([Buffer.from([type, 3, 3, 0, 100, ...body]), Buffer.alloc(100 - body.length)]);
  const socket = connect(gateway.port, '127.0.0.1');
  closers.push(() => socket.destroy());
  socket.write('CONNECT example.com:443 HTTP/1.1\r\n\r\n');
  let heard = '';
  await new Promise<void>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      if (heard === '') socket.write(Buffer.concat([record(22, [1, 0, 0, 96]), record(23, [])]));
      heard += bytes.toString('latin1');
      // It answers the early data as well.
      if (heard.split('\x16\x03\x03').length > 2) resolve();
    });
  });
  expect(gateway.engine.exits()).toEqual({ trusted: 0, unproven: 1 });
});

describe('one account', () => {
  const newcomer = { id: 'new', speaksForAll: false };

  test('changes no choice of another one, whatever it connects to and names as its target', async () => {
    const { gateway, farm, places, refused, failuresOf } = await startFarm(10, true);
    const [own = '', ...others] = places;
    for (const other of others) refused.add(other);
    await failuresOf(20, 'a:victim');
    await failuresOf(100, 'a-target-example.com:attacker', 'attacker.example');
    const before = farm.dials.get(own) ?? 0;
    expect(await failuresOf(40, 'a:victim')).toBe(0);
    expect((farm.dials.get(own) ?? 0) - before).toBeLessThan(12);
    const lane = gateway.engine.laneOf('tunnel', { id: 'victim', speaksForAll: false });
    const isLeftOut = (upstream: Upstream) =>
      !lane.trusts(upstream) && !lane.choose((one) => one === upstream, {}, 'only');
    expect([...gateway.engine.upstreams('tunnel')].filter(isLeftOut)).toEqual([]);
    expect(gateway.sites.knows('attacker.example')).toBe(false);
  });

  test('cannot keep a newcomer from proxies, or lead it to some, but several together do', async () => {
    const { gateway, failuresOf } = await startFarm(1, true);
    const scoreForNewcomer = () => {
      const lane = gateway.engine.laneOf('tunnel', newcomer);
      const member = lane.choose(() => true);
      return member ? lane.score(member) : 0;
    };
    const unknown = scoreForNewcomer();
    await failuresOf(10, 'a:first');
    expect(scoreForNewcomer()).toBe(unknown);
    await failuresOf(10, 'a:second');
    expect(scoreForNewcomer()).toBeGreaterThan(unknown);
  });

  test('sets the time for further attempts of nobody else, and greetings alone set it for nobody', async () => {
    const { gateway, places, roles, failuresOf } = await startFarm(1, true);
    const patience = (id: string) =>
      gateway.engine.laneOf('tunnel', { id, speaksForAll: false }).hedges.afterMs('example.com');
    const unlearnt = patience('new');
    for (const place of places) roles.set(place, 'echo-close');
    await failuresOf(40, 'a:first');
    expect(patience('first')).toBe(unlearnt);
    roles.clear();
    await failuresOf(40, 'a:first');
    expect(patience('first')).not.toBe(unlearnt);
    expect(patience('new')).toBe(unlearnt);
  });
});
