import { expect, test } from 'bun:test';
import { systemClock } from '../../src/lib/clock.ts';
import { createBlindTest } from '../../src/proxy/check/blind-test.ts';
import { createSingleChecks, type SingleCheckOptions } from '../../src/proxy/check/single-check.ts';
import type { CheckResult, Endpoint } from '../../src/proxy/proxy.ts';
import { ROLES, type RoleName } from '../support/farm/farm.ts';
import { openForeignWorld } from '../support/farm/foreign-world.ts';
import { FORGING_ROLES } from '../support/farm/forgers.ts';
import { HONEST_ROLES } from '../support/farm/honest.ts';
import { startJudge } from '../support/farm/judge-server.ts';
import { startWitness } from '../support/farm/witness-server.ts';
import { endedAfterEach } from '../support/shared.ts';

const openWorld = endedAfterEach(openForeignWorld);
const openJudge = endedAfterEach(startJudge);
const openWitness = endedAfterEach(startWitness);

const FORGERS = Object.keys(FORGING_ROLES) as RoleName[];
const HONEST = (Object.keys(HONEST_ROLES) as RoleName[]).filter((name) => !name.startsWith('instant'));

/** Checks proxies of these roles, `each` of every role, all at once. */
async function checkAll(
  check: (endpoint: Endpoint) => Promise<CheckResult>,
  endpointOf: (role: RoleName, n: number) => Endpoint,
  roles: RoleName[],
  each: number,
) {
  const all = roles.flatMap((role) => Array.from({ length: each }, (_, n) => ({ role, n })));
  return Promise.all(all.map(async ({ role, n }) => ({ role, result: await check(endpointOf(role, n)) })));
}

test('without a judge of our own no forger is believed, and every honest proxy is found', async () => {
  const world = await openWorld();
  const checker = world.checker();
  const { endpoint } = world.farm;
  const [forged, honest] = await Promise.all([
    checkAll(checker.check, endpoint, FORGERS, 25),
    checkAll(checker.check, endpoint, HONEST, 8),
  ]);
  expect(forged.length).toBeGreaterThanOrEqual(500);
  expect(forged.filter(({ result }) => result.verdict !== 'dead')).toEqual([]);
  for (const { role, result } of honest) {
    const proof = ROLES[role].protocol === 'http' ? 'relayed' : 'tls';
    expect({ role, result }).toMatchObject({ result: { verdict: 'alive', proof } });
  }
});

test('our own judge proves plain HTTP without a witness', async () => {
  const world = await openWorld();
  const secret = 'of this fleet';
  const own = await openJudge({ secret });
  const checker = world.checker({ secrets: () => [secret], judges: [...world.options.judges, own.url] });
  await checker.probe();
  for (let n = 0; n < 4; n++) {
    expect(await checker.check(world.farm.endpoint('http', n))).toMatchObject({ proof: 'signed' });
  }
  expect(world.witnesses.map((witness) => witness.sent())).toEqual([0, 0]);
});

test('a question through a proxy looks like that of a common client, and is another one each time', async () => {
  const seen: string[] = [];
  const judge = await openJudge({
    format: 'httpbin',
    onRequest: (path, peer, headers) => {
      if (peer !== '127.0.0.1') seen.push(`${path} ${Object.entries(headers)}`);
    },
  });
  const world = await openWorld();
  const checker = world.checker({ judges: [judge.url] });
  await checker.check(world.farm.endpoint('http', 1));
  await checker.check(world.farm.endpoint('http', 2));
  expect(seen).toHaveLength(2);
  expect(new Set(seen).size).toBe(2);
  for (const text of seen) {
    expect(text).toMatch(
      /^\/judge\?_=[\w-]+ host,[\w.:]+,user-agent,curl\/[\d.]+,accept,\*\/\*,connection,close$/,
    );
  }
});

test('an echo counts, and is marked as one, while no witness responds; once the witness is back, the proxy is proven', async () => {
  const world = await openWorld();
  const [first, second] = world.witnesses;
  if (!first || !second) throw new Error('no witnesses');
  await Promise.all([first.stop(), second.stop()]);
  const checker = world.checker({ questionGapMs: 0 });
  const honest = world.farm.endpoint('http', 3);
  expect(await checker.check(honest)).toMatchObject({ verdict: 'alive', proof: 'echoed' });
  expect(checker.judges().witnesses.state).toBe('down');
  await openWitness({ host: 'witness0.test', port: first.port });
  // The first check that meets the witness again has it asked.
  expect(await checker.check(honest)).toMatchObject({ verdict: 'alive', proof: 'relayed' });
  expect(checker.judges().witnesses.state).toBe('up');
  const forger = world.farm.endpoint('relays judges alone', 3);
  expect(await checker.check(forger)).toEqual({ verdict: 'dead', error: 'bad_answer' });
});

test('a proxy that has brought a part of a file is believed for a while, unless it is in doubt', async () => {
  const world = await openWorld();
  let now = 0;
  const checker = world.checker({ monotonic: () => now + performance.now() });
  const endpoint = world.farm.endpoint('http', 4);
  const brought = () => world.witnesses.reduce((sum, { sent }) => sum + sent(endpoint.ip), 0);
  for (let n = 0; n < 5; n++) expect(await checker.check(endpoint)).toMatchObject({ proof: 'relayed' });
  const once = brought();
  expect(once).toBeGreaterThan(0);
  expect(once).toBeLessThanOrEqual(4096);
  expect(await checker.check(endpoint, undefined, true)).toMatchObject({ proof: 'relayed' });
  const twice = brought();
  expect(twice).toBeGreaterThan(once);
  now = 3 * 3_600_000;
  expect(await checker.check(endpoint)).toMatchObject({ proof: 'relayed' });
  expect(brought()).toBeGreaterThan(twice);
  // The direct copy is two blocks at most, and a few pieces to compare.
  for (const { sent } of world.witnesses) expect(sent('127.0.0.1')).toBeLessThan(600 * 1024);
});

test.each(['the administrator', 'anyone'])(
  'a test by %s has a result although the witnesses fail meanwhile',
  async (tester) => {
    const world = await openWorld();
    const checker = world.checker();
    await checker.check(world.farm.endpoint('http', 4));
    await Promise.all(world.witnesses.map(({ stop }) => stop()));
    const { signal } = new AbortController();
    const blind = createBlindTest({ checker, clock: systemClock, signal });
    const options = { checker, blind, countryOf: () => 'ZZ', signal } as unknown as SingleCheckOptions;
    const who = { admin: tester !== 'anyone', payer: 'p' };
    const { result } = await createSingleChecks(options).now(world.farm.endpoint('http', 5), who);
    expect(result).toMatchObject({ verdict: 'alive', proof: 'echoed' });
  },
);

test('a witness that changes, is small or can be guessed is left out', async () => {
  const world = await openWorld();
  const small = await openWitness({ bytes: Buffer.alloc(1000, 'x') });
  const empty = await openWitness({ bytes: Buffer.alloc(1024 * 1024) });
  const [good, bad] = world.witnesses;
  if (!good || !bad) throw new Error('no witnesses');
  const checker = world.checker({
    witnesses: [good, bad, small, empty].map(({ url }) => url),
    questionGapMs: 0,
  });
  await checker.check(world.farm.endpoint('http', 5));
  bad.change();
  for (let n = 0; n < 8; n++) {
    expect(await checker.check(world.farm.endpoint('http', 10 + n))).toMatchObject({ proof: 'relayed' });
  }
  expect(checker.judges().witnesses.witnesses.map(({ up, error }) => error ?? up)).toEqual([
    true,
    'has changed',
    'is a file of only 1000 bytes',
    'has too little entropy to prove anything',
  ]);
});

test('of the honest none ends dead while one of five judges refuses all proxies, and that one is left out', async () => {
  const world = await openWorld({
    secure: (n) => (n === 2 ? { status: (peer) => (peer === '127.0.0.1' ? 200 : 403) } : {}),
    plain: (n) => (n === 1 ? { status: (peer) => (peer === '127.0.0.1' ? 200 : 429) } : {}),
    witness: (n) => (n === 0 ? { status: (peer) => (peer === '127.0.0.1' ? 206 : 403) } : {}),
  });
  const checker = world.checker();
  await checker.probe();
  const results = await checkAll(checker.check, world.farm.endpoint, HONEST, 20);
  expect(results.filter(({ result }) => result.verdict !== 'alive')).toEqual([]);
  const { judges, witnesses } = checker.judges();
  expect(judges.filter(({ leftOut }) => leftOut).map(({ url }) => new URL(url).hostname)).toEqual([
    'plain1.judge.test',
    'secure2.judge.test',
  ]);
  expect(witnesses.witnesses.map(({ leftOut }) => leftOut)).toEqual([true, false]);
  // Left out, it is no longer asked through proxies.
  const before = world.secure[2]?.answered();
  await checkAll(checker.check, world.farm.endpoint, ['socks5', 'https'], 20);
  expect(world.secure[2]?.answered()).toBe(before);
});

test('the state of the judges is reported by kind', async () => {
  const world = await openWorld();
  await Promise.all(world.secure.map((judge) => judge.stop()));
  const checker = world.checker();
  expect(await checker.probe()).toMatchObject({ state: 'up', schemes: { http: 'up', https: 'down' } });
  expect(await checker.check(world.farm.endpoint('http'))).toMatchObject({ verdict: 'alive' });
  for (const role of ['https', 'socks4', 'socks5'] as const) {
    expect(await checker.check(world.farm.endpoint(role))).toMatchObject({ verdict: 'unknown' });
  }
});
