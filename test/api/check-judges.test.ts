import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import type { CheckerOptions } from '../../src/proxy/check/checker.ts';
import type { Endpoint } from '../../src/proxy/proxy.ts';
import { localChecker } from '../support/farm/checkers.ts';
import { type Farm, startFarm } from '../support/farm/farm.ts';
import { type JudgeServer, startJudge } from '../support/farm/judge-server.ts';
import { afterEachTest, shared } from '../support/shared.ts';

const JUDGE_DOWN = { verdict: 'unknown', error: 'judge_down' } as const;

/** Addresses of the public internet that stand for this machine and two proxies; nothing is ever sent to them. */
const US = '9.9.9.9';
const PROXY: Endpoint = { protocol: 'http', ip: '8.8.4.4', port: 8080 };
const JUDGE = '1.1.1.1';

const farm = shared(() => startFarm());
const closers = afterEachTest();

type Judged = Parameters<typeof startJudge>[0];

/** Starts a judge or several, and a checker that asks them. */
async function judged(about: Judged | Judged[] = {}, options: Partial<CheckerOptions> = {}) {
  const judges = await Promise.all([about].flat().map((one) => startJudge(one)));
  const checker = localChecker({ judges: judges.map(({ url }) => url), ...options });
  closers.push(checker.close, ...judges.map(({ stop }) => stop));
  return { judge: judges[0] as JudgeServer, judges, checker };
}

test('while no judge answers, nothing is said about any proxy', async () => {
  const { judge, checker } = await judged();
  expect(checker.judges().state).toBe('unknown');
  expect(await checker.check(farm.endpoint('http'))).toMatchObject({ verdict: 'alive' });
  expect(checker.judges()).toMatchObject({
    state: 'up',
    judges: [{ url: judge.url, up: true, error: null }],
  });
  await judge.stop();
  for (const role of ['http', 'wrong token', 'garbage', 'socks5'] as const) {
    expect(await checker.check(farm.endpoint(role))).toEqual(JUDGE_DOWN);
  }
  expect(checker.judges()).toMatchObject({
    state: 'down',
    judges: [{ up: false, error: expect.any(String) }],
  });
});

test('of many checks under way when the judge goes down, none fails', async () => {
  const { judge, checker } = await judged();
  await checker.probe();
  const running = Array.from({ length: 200 }, (_, n) => checker.check(farm.endpoint('http', n)));
  await Promise.race(running);
  const [results] = await Promise.all([Promise.all(running), judge.stop()]);
  expect(results.filter(({ verdict }) => verdict === 'dead')).toEqual([]);
});

test('a judge that comes back is used again', async () => {
  const { judge: first, checker } = await judged({}, { questionGapMs: 0 });
  await checker.probe();
  await first.stop();
  expect(await checker.check(farm.endpoint('http'))).toEqual(JUDGE_DOWN);
  const second = await startJudge({ port: first.port });
  closers.push(second.stop);
  expect((await checker.probe()).state).toBe('up');
  expect(await checker.check(farm.endpoint('http'))).toMatchObject({ verdict: 'alive' });
});

test('with a second judge the first may fail', async () => {
  const { judge: first, checker } = await judged([{}, {}]);
  await checker.probe();
  await first.stop();
  for (let n = 0; n < 4; n++) {
    expect(await checker.check(farm.endpoint('http', n))).toMatchObject({ verdict: 'alive' });
  }
  expect(checker.judges().judges.map(({ up }) => up)).toEqual([false, true]);
});

test('judges take turns', async () => {
  const { judges, checker } = await judged([{}, {}]);
  await checker.probe();
  for (let n = 0; n < 10; n++) await checker.check(farm.endpoint('http', n));
  expect(judges.map((judge) => judge.answered())).toEqual([6, 6]);
});

test('a check that waits for a busy judge ends when it is aborted', async () => {
  const { checker } = await judged({}, { maxPerSecond: 0.01 });
  expect(await checker.check(farm.endpoint('http'))).toMatchObject({ verdict: 'alive' });
  expect(await checker.check(farm.endpoint('http'), AbortSignal.timeout(10))).toEqual(JUDGE_DOWN);
});

test('many failing checks share the questions to the judge', async () => {
  const { judge, checker } = await judged();
  const endpoints = Array.from({ length: 100 }, (_, n) => farm.endpoint('wrong token', n));
  const results = await Promise.all(endpoints.map((endpoint) => checker.check(endpoint)));
  expect(results).toEqual(endpoints.map(() => ({ verdict: 'dead', error: 'bad_answer' })));
  expect(judge.answered()).toBeLessThan(10);
});

test('an HTTPS proxy is not checked with a judge without TLS, SOCKS is checked with either', async () => {
  const { checker } = await judged();
  expect(await checker.check(farm.endpoint('https'))).toEqual(JUDGE_DOWN);
  expect(await checker.check(farm.endpoint('socks4'))).toMatchObject({ verdict: 'alive' });
});

test('a judge that says nothing is down because its time is over', async () => {
  const silent = `http://${farm.address('silent')}:${farm.port}/`;
  const { checker } = await judged([], { judges: [silent], timeoutMs: 200 });
  expect((await checker.probe()).judges).toMatchObject([{ up: false, error: 'timed out' }]);
});

test('a judge that does not echo the request is not believed', async () => {
  const { checker } = await judged({ seenAs: () => 'somewhere' });
  expect((await checker.probe()).judges).toMatchObject([
    { up: false, error: 'does not show the address of its client' },
  ]);
});

for (const format of ['httpbin', 'azenv'] as const) {
  test(`a public echo service in the form of ${format} serves as a judge`, async () => {
    const { checker } = await judged({ format });
    const check = (role: Parameters<Farm['endpoint']>[0]) => checker.check(farm.endpoint(role));
    expect(await check('http')).toMatchObject({
      anonymity: 'elite',
      exitIp: farm.address('http'),
      tampering: [],
    });
    expect(await check('socks4')).toMatchObject({ anonymity: 'elite', exitIp: farm.address('socks4') });
    expect(await check('http that says so')).toMatchObject({ anonymity: 'anonymous', tampering: ['via'] });
    expect(await check('http that names its client')).toMatchObject({ anonymity: 'transparent' });
    expect(await check('injected script')).toEqual({ verdict: 'dead', error: 'bad_answer' });
    expect(await check('captive portal')).toEqual({ verdict: 'dead', error: 'bad_answer' });
    expect(await check('forged answer')).toEqual({ verdict: 'dead', error: 'bad_answer' });
  });
}

test('headers that a balancer adds before the judge are not held against the proxy', async () => {
  let requests = 0;
  const { checker } = await judged({
    balancer: (peer) => ({ 'x-real-ip': peer, 'x-request-id': `${++requests}`, 'x-forwarded-proto': 'http' }),
  });
  expect(await checker.check(farm.endpoint('http'))).toMatchObject({ anonymity: 'elite', tampering: [] });
});

/** A checker that believes itself on the public internet, while all it dials is the farm and one judge or several. */
async function publicChecker(
  seenAs: ((peer: string) => string) | ((peer: string) => string)[],
  options: Partial<CheckerOptions> = {},
) {
  const dialled: string[] = [];
  const abouts = [seenAs].flat().map((one, n) => ({ seenAs: one, host: `judge${n}.test` }));
  const { checker } = await judged(abouts, {
    allowPrivate: false,
    resolve: async () => [JUDGE],
    dial: (address, port) => {
      dialled.push(address);
      return address === JUDGE ? connect(port, '127.0.0.1') : connect(farm.port, farm.address('http'));
    },
    ...options,
  });
  return { checker, dialled };
}

test('our own address, as a judge shows it, is not dialled', async () => {
  const { checker, dialled } = await publicChecker(() => US);
  await checker.probe();
  dialled.length = 0;
  for (const protocol of ['http', 'https', 'socks4', 'socks5'] as const) {
    const result = await checker.check({ protocol, ip: US, port: 8080 });
    expect(result).toEqual({ verdict: 'dead', error: 'refused_address' });
  }
  expect(dialled).toEqual([]);
});

test('a judge on a private address is not dialled', async () => {
  const { checker, dialled } = await publicChecker(() => US, {
    resolve: async () => ['10.0.0.1', '::1'],
  });
  expect((await checker.probe()).judges).toMatchObject([
    { up: false, error: 'has no address that may be contacted' },
  ]);
  expect(await checker.check(PROXY)).toEqual(JUDGE_DOWN);
  expect(dialled).toEqual([]);
});

test('a judge is resolved once', async () => {
  let resolved = 0;
  const resolve = async () => {
    resolved++;
    return [JUDGE];
  };
  const { checker } = await publicChecker(() => US, { resolve });
  await checker.probe();
  await checker.probe();
  await checker.check(PROXY);
  expect(resolved).toBe(1);
});

test('a public proxy that leaves us at our own address, or at a private one, is none', async () => {
  const results = [];
  for (const exit of ['8.8.4.4', US, '192.168.1.1']) {
    const { checker } = await publicChecker((peer) => (peer === '127.0.0.1' ? US : exit));
    results.push(await checker.check(PROXY));
  }
  expect(results).toMatchObject([
    { verdict: 'alive', exitIp: '8.8.4.4' },
    { verdict: 'dead', error: 'wrong_exit' },
    { verdict: 'dead', error: 'wrong_exit' },
  ]);
});

test.each(['10.0.0.1', US])(
  'a judge that shows everyone the address %s counts against nobody if another one knows better',
  async (address) => {
    const exitOf = (peer: string) => (peer === '127.0.0.1' ? US : PROXY.ip);
    const { checker } = await publicChecker([() => address, exitOf]);
    for (let n = 0; n < 4; n++)
      expect(await checker.check(PROXY)).toMatchObject({ verdict: 'alive', exitIp: PROXY.ip });
  },
);

for (const code of ['EMFILE', 'ECONNREFUSED', 'ENETUNREACH']) {
  test(`when every connection fails with ${code}, nothing is said about the proxy`, async () => {
    let working = true;
    const dial = (host: string, port: number) => {
      const socket = connect({ host, port });
      if (!working) socket.destroy(Object.assign(new Error(code), { code }));
      return socket;
    };
    const { checker } = await judged({}, { dial });
    expect(await checker.check(farm.endpoint('http'))).toMatchObject({ verdict: 'alive' });
    working = false;
    expect(await checker.check(farm.endpoint('http'))).toEqual(JUDGE_DOWN);
  });
}
