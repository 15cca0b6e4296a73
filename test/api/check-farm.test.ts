import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { assertRole, CHECKED_ROLES, type CheckWorld, openCheckWorld } from '../support/farm/check-world.ts';
import { localChecker } from '../support/farm/checkers.ts';
import { type Farm, ROLES, type RoleName } from '../support/farm/farm.ts';
import { startUnansweredPort } from '../support/farm/unanswered-port.ts';
import { until } from '../support/stores/services.ts';

let world: CheckWorld;
let farm: Farm;
let patient: Checker;
beforeAll(async () => {
  world = await openCheckWorld();
  ({ farm, patient } = world);
});
afterAll(() => world.close());

describe('a proxy that is', () => {
  for (const name of CHECKED_ROLES) {
    test.concurrent(`"${name}" ends as ${ROLES[name].expected}, and its socket is gone`, () =>
      assertRole(world, name));
  }
});

test('times are in order', async () => {
  const result = await patient.check(farm.endpoint('http', 8));
  if (result.verdict !== 'alive') throw new Error(result.error);
  expect(result.connectMs).toBeGreaterThanOrEqual(0);
  expect(result.firstByteMs).toBeGreaterThanOrEqual(result.connectMs);
  expect(result.totalMs).toBeGreaterThanOrEqual(result.firstByteMs);
});

test('what a proxy adds decides its anonymity and is named', async () => {
  const judged = async (role: RoleName) => {
    const result = await patient.check(farm.endpoint(role, 9));
    return result.verdict === 'alive' ? [result.anonymity, ...result.tampering] : result;
  };
  expect(await judged('http')).toEqual(['elite']);
  expect(await judged('http that says so')).toEqual(['anonymous', 'via']);
  expect(await judged('http that names its client')).toEqual(['transparent', 'via', 'x-forwarded-for']);
  expect(await judged('http that adds a header')).toEqual(['elite', 'x-tracked']);
  expect(await judged('https')).toEqual(['elite']);
  expect(await judged('socks5')).toEqual(['elite']);
});

test('a closed port is unreachable', async () => {
  for (const protocol of ['http', 'https', 'socks4', 'socks5'] as const) {
    const endpoint = { protocol, ip: farm.address('http'), port: farm.closedPort };
    expect(await patient.check(endpoint)).toEqual({ verdict: 'dead', error: 'unreachable' });
  }
});

test('an attempt to connect that nobody answers is given up with its check', async () => {
  const unanswered = await startUnansweredPort();
  const checker = localChecker({ judges: world.judges.map(({ url }) => url), timeoutMs: 4_000 });
  const endpoint = { protocol: 'http', ip: '127.0.0.1', port: unanswered.port } as const;
  try {
    const running = Promise.all(Array.from({ length: 20 }, () => checker.check(endpoint)));
    await until(async () => (await unanswered.attempts()) > 0, 120_000);
    for (const result of await running) expect(result).toEqual({ verdict: 'dead', error: 'timeout' });
    // The system itself would go on for two minutes.
    await until(async () => (await unanswered.attempts()) === 0, 120_000);
  } finally {
    checker.close();
    await unanswered.stop();
  }
});

test('an HTTP proxy does not pass as a SOCKS proxy, nor a SOCKS proxy as an HTTP proxy', async () => {
  const as = (role: RoleName, protocol: 'http' | 'socks4' | 'socks5') =>
    world.hasty.check({ ...farm.endpoint(role, 10), protocol });
  for (const result of await Promise.all([
    as('http', 'socks4'),
    as('http', 'socks5'),
    as('socks5', 'http'),
    as('socks4', 'http'),
  ])) {
    expect(result.verdict).toBe('dead');
  }
});

test('an aborted check says nothing about the proxy and lets go of it', async () => {
  const abort = new AbortController();
  const running = patient.check(farm.endpoint('silent', 11), abort.signal);
  await until(() => farm.stats('silent').open > 0);
  abort.abort();
  expect(await running).toEqual({ verdict: 'unknown', error: 'judge_down' });
  expect(await patient.check(farm.endpoint('http', 11), abort.signal)).toMatchObject({ verdict: 'unknown' });
  await farm.drained('silent');
});

test('closing the checker ends running checks', async () => {
  const checker = localChecker({ judges: world.judges.slice(0, 1).map(({ url }) => url) });
  const running = checker.check(farm.endpoint('silent socks5', 12));
  await until(() => farm.stats('silent socks5').open > 0);
  checker.close();
  expect(await running).toEqual({ verdict: 'unknown', error: 'judge_down' });
  expect(await checker.check(farm.endpoint('socks5', 12))).toMatchObject({ verdict: 'unknown' });
  await farm.drained('silent socks5');
});

test('a hundred checks at once do not mix up their answers', async () => {
  const roles = ['http', 'socks5', 'wrong token', 'socks4', 'https', 'http that says so'] as const;
  const results = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const endpoint = farm.endpoint(roles[n % roles.length] ?? 'http', 100 + n);
      return { endpoint, result: await patient.check(endpoint) };
    }),
  );
  for (const [n, { endpoint, result }] of results.entries()) {
    if (n % roles.length === 2) expect(result).toEqual({ verdict: 'dead', error: 'bad_answer' });
    else expect(result).toMatchObject({ verdict: 'alive', exitIp: endpoint.ip });
  }
});
