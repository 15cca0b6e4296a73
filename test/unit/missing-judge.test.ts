import { expect, test } from 'bun:test';
import { systemClock } from '../../src/lib/clock.ts';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { createPaidUpstreams } from '../../src/proxy/pool/paid.ts';
import { formatUrl } from '../../src/proxy/proxy.ts';
import { createCertificates } from '../support/certificates.ts';
import { localChecker } from '../support/farm/checkers.ts';
import { farmAddress, type RoleName, startFarm } from '../support/farm/farm.ts';
import { startJudge } from '../support/farm/judge-server.ts';
import { judgeState } from '../support/farm/judge-state.ts';
import { startPaidProxy } from '../support/farm/paid-proxy.ts';
import { json } from '../support/json.ts';
import { createPool } from '../support/pool/pool.ts';
import { createPoolServer } from '../support/pool/server.ts';
import { shared } from '../support/shared.ts';
import { drafts } from '../support/stores/records.ts';
import { until } from '../support/stores/services.ts';

const SECRET = 'shared by checker and judge';
const certificates = await createCertificates();
const farm = shared(() => startFarm(certificates));
const judges = {
  http: shared(() => startJudge({ secret: SECRET })),
  https: shared(() => startJudge({ tls: certificates.good, host: 'localhost' })),
};

const CHECKED = () => ({
  ca: certificates.ca,
  secrets: () => [SECRET],
  resolve: async () => ['127.0.0.1'],
  timeoutMs: 1000,
});
const checkerWith = (kind: 'http' | 'https') => localChecker({ ...CHECKED(), judges: [judges[kind].url] });

/** Refreshes from a list of these, and returns what is found to work. */
async function found(kind: 'http' | 'https', list: [said: string, role: RoleName][]): Promise<string[]> {
  const checker = checkerWith(kind);
  await checker.probe();
  const mine = list.map(([said, role]) => `${said}://${farmAddress(role)}:${farm.port}`);
  const pool = await createPool({ mine }, { checker });
  await pool.refresh();
  const items = (await Array.fromAsync(pool.store.stream({ status: 'alive' }))).flat();
  await pool.close();
  checker.close();
  return items.map(formatUrl).sort();
}

const place = (role: RoleName) => `${farmAddress(role)}:${farm.port}`;

test('with judges of one kind alone, an entry without a protocol is found to be SOCKS', async () => {
  for (const kind of ['http', 'https'] as const)
    expect(await found(kind, [['any', 'socks5']])).toEqual([`socks5://${place('socks5')}`]);
});

test('with TLS judges alone, an HTTP proxy of a list is found by CONNECT', async () => {
  expect(await found('https', [['http', 'https']])).toEqual([`https://${place('https')}`]);
});

test('without a judge for its protocol, nobody is told that a proxy does not work', async () => {
  const [checker, plain] = [checkerWith('https'), await startJudge({ secret: SECRET })];
  const both = localChecker({ ...CHECKED(), judges: [plain.url, judges.https.url] });
  await Promise.all([checker.probe(), both.probe()]);
  await plain.stop();
  // A check that finds out that the judge has gone.
  expect(await both.check(farm.endpoint('http'))).toMatchObject({ verdict: 'unknown' });
  for (const one of [checker, both]) {
    const server = await createPoolServer({ pool: { checker: one } });
    const asked = (protocol: 'http' | 'https' | 'socks5') =>
      server.post('/api/test_proxy_quick', { ip: farmAddress(protocol), port: farm.port, protocol });
    expect(await json(await asked('https'))).toMatchObject({ alive: true });
    expect(await json(await asked('socks5'))).toMatchObject({ alive: true });
    const untold = asked('http');
    await server.clock.advance(5000);
    expect((await untold).status).toBe(503);
    await server.close();
    one.close();
  }
});

/** Returns the protocols that a paid upstream is found to speak. */
async function paidFor(checker: Checker, port: number): Promise<string[]> {
  const paid = createPaidUpstreams({
    sources: [{ name: 'mine', url: 'file:///mine', format: 'lines', protocol: null, logins: true }],
    async readSource(_, { onPaid }) {
      onPaid?.({ kind: 'http', ip: 'paid.judge.test', port, login: 'me:secret', country: null, tls: null });
      return { found: 0, paid: 1, rejected: 0, bytes: 1, error: null, reached: true };
    },
    checker,
    countryOf: () => 'ZZ',
    clock: systemClock,
    log: () => {},
    readEveryMs: 60_000,
  });
  paid.start();
  await until(() => paid.alive().length > 0);
  await paid.stop();
  checker.close();
  return paid.alive().map(({ protocol }) => protocol);
}

test.each([
  ['http', []],
  ['https', []],
  ['http', ['https://127.0.0.1:9/']],
  ['https', ['http://127.0.0.1:9/']],
] as const)(
  'a paid upstream works as what a judge of %s can prove, whether others are silent: %p',
  async (kind, silent) => {
    const proxy = await startPaidProxy({ exits: { 'me:secret': '127.9.1.1' } });
    const checker = localChecker({ ...CHECKED(), judges: [judges[kind].url, ...silent] });
    expect(await paidFor(checker, proxy.port)).toEqual([kind]);
    proxy.stop();
  },
);

test('of the tests that wait for a judge to answer, 200 begin', async () => {
  const { store, service, network, close } = await createPool();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  network.judge = 'unknown';
  network.probe = () => answered.then(() => judgeState('up'));
  const starts = (await store.save(drafts(202))).map(({ id }) => service.startTest(id));
  answer();
  const ends = await Promise.allSettled(starts);
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(2);
  await close();
});
