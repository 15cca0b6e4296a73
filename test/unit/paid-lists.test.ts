import { afterEach, beforeEach, expect, test } from 'bun:test';
import { exitOf, unknownUpstream } from '../../src/gateway/upstream.ts';
import { createPaidUpstreams } from '../../src/proxy/pool/paid.ts';
import type { CheckResult, Dialled, Proof, Protocol } from '../../src/proxy/proxy.ts';
import { createSourceReader } from '../../src/proxy/sources/read.ts';
import type { Source } from '../../src/proxy/sources/source.ts';
import { proxyKeyOf } from '../../src/proxy/targets/site.ts';
import { judgeState } from '../support/farm/judge-state.ts';
import { until } from '../support/stores/services.ts';

const OWN: Source = { name: 'mine', url: 'file:///mine.txt', format: 'lines', protocol: null, logins: true };
const ALIVE = {
  connectMs: 1,
  firstByteMs: 1,
  totalMs: 5,
  anonymity: 'elite',
  tampering: [],
} as const;
const MINUTE = 60_000;

let now: number;
let list: string | null;
let exits: string[];
let checked: Dialled[];
let broken: Extract<CheckResult, { verdict: 'dead' }>['error'] | null;
/** No judge can decide it. */
let undecidable: Protocol | null;
let proof: Proof;
let paid: ReturnType<typeof createPaidUpstreams>;
beforeEach(() => {
  [now, list, exits, checked, proof] = [0, '', ['198.51.100.1'], [], 'tls'];
  [broken, undecidable] = [null, null];
  paid = createPaidUpstreams({
    sources: [OWN, { ...OWN, name: 'free', url: 'file:///free.txt', logins: false }],
    readSource: createSourceReader({
      fetch: () => Promise.reject(new Error('nothing is fetched here')),
      async *readFile({ pathname }) {
        if (pathname !== '/mine.txt') throw new Error('a public list is not read here');
        if (list === null) throw new Error('is gone');
        yield Buffer.from(list);
      },
      allowPrivate: true,
    }),
    checker: {
      judges: () => judgeState('up'),
      async check(proxy): Promise<CheckResult> {
        checked.push(proxy);
        if (proxy.protocol === undecidable) return { verdict: 'unknown', error: 'judge_down' };
        if (broken || proxy.protocol.startsWith('socks'))
          return { verdict: 'dead', error: broken ?? 'timeout' };
        return {
          verdict: 'alive',
          ...ALIVE,
          proof,
          tampering: [],
          exitIp: exits[checked.length % exits.length] ?? '',
        };
      },
    },
    countryOf: () => 'ZZ',
    clock: { now: () => now, sleep: async () => {} },
    log: () => {},
    readEveryMs: 60 * MINUTE,
  });
});
afterEach(() => paid.stop());

/** Starts, and waits for the first checks. */
async function begin(lines: string, count: number): Promise<void> {
  list = lines;
  paid.start();
  await until(() => paid.alive().length === count);
}

const shown = () =>
  paid.alive().map(({ protocol, ip, login, exitIp }) => `${protocol} ${ip} ${login} ${exitIp}`);

test('names, and all logins of an address that has several, are checked as what they may speak', async () => {
  await begin(
    'p.example.test:80:u:p DE\nhttp://a:b@192.0.2.1:80\nhttp://c:d@192.0.2.1:80\nx:y@192.0.2.2:80\n',
    6,
  );
  expect(shown().sort()).toEqual([
    'http 192.0.2.1 a:b 198.51.100.1',
    'http 192.0.2.1 c:d 198.51.100.1',
    'http p.example.test u:p 198.51.100.1',
    'https 192.0.2.1 a:b 198.51.100.1',
    'https 192.0.2.1 c:d 198.51.100.1',
    'https p.example.test u:p 198.51.100.1',
  ]);
  expect(checked.some(({ protocol, ip }) => protocol.startsWith('socks') || ip === '192.0.2.2')).toBe(false);
});

test('an upstream with changing exits has none to show', async () => {
  exits = ['198.51.100.1', '198.51.100.2'];
  await begin('http://u:p@p.example.test:80\n', 2);
  expect(shown()[1]).toBe('https p.example.test u:p null');
  // What clients are told instead fits into a report, and tells neither name nor login.
  const [one, other] = ['u:p', 'u:q'].map((login) =>
    exitOf(unknownUpstream({ protocol: 'http', ip: 'p.example.test', port: 80, login })),
  );
  expect(one).toMatch(/^[0-9a-f]{16}$/);
  expect(one).not.toBe(other);
});

test.each(['tls', 'relayed'] as const)(
  'one that is doubted is soon checked again, leaves when it has failed, and is soon back (%s)',
  async (shown) => {
    proof = shown;
    await begin('http://u:p@p.example.test:80\n', 2);
    const [before, key] = [paid.version(), 'http://p.example.test:80#'];
    now += MINUTE;
    broken = 'timeout';
    paid.doubt(`${key}unknown`);
    const [first] = paid.alive();
    if (!first) throw new Error('nothing works');
    expect(proxyKeyOf(first)).toStartWith(key);
    expect(proxyKeyOf(first)).not.toContain('u:p');
    paid.doubt(proxyKeyOf(first));
    await until(() => paid.alive().length === 0);
    expect(paid.version()).toBeGreaterThan(before);
    // However long it was away, it is back within a minute.
    const count = checked.length;
    now += 10 * MINUTE;
    await until(() => checked.length === count + 2);
    broken = null;
    now += MINUTE;
    await until(() => paid.alive().length === 2);
  },
  15_000,
);

test('what was proven stays while no witness is available, but nothing new is believed', async () => {
  await begin('http://u:p@p.example.test:80\n', 2);
  proof = 'echoed';
  list += 'http://u:p@q.example.test:80\n';
  const count = checked.length;
  now += 61 * MINUTE;
  await until(() => checked.length >= count + 4);
  expect(paid.alive().map(({ protocol, ip }) => `${protocol} ${ip}`)).toEqual([
    'http p.example.test',
    'https p.example.test',
  ]);
});

test.each([
  ['http', 'unreachable'],
  ['https', 'timeout'],
] as const)('an upstream that has failed leaves while %s cannot be decided: %s', async (protocol, error) => {
  if (protocol === 'https') undecidable = protocol;
  await begin('http://u:p@p.example.test:80\n', protocol === 'https' ? 1 : 2);
  [undecidable, broken] = [protocol, error];
  const count = checked.length;
  now += 61 * MINUTE;
  await until(() => checked.length >= count + 2);
  await until(() => paid.alive().length === 0);
});

test.each([
  ['cannot be read', null],
  ['can no longer be understood', 'Your account has expired.\n'],
])('a list that %s takes nothing away, and one that is shorter or empty does', async (_, broken) => {
  await begin('http://u:p@p.example.test:80\nhttp://u:p@q.example.test:80\n', 4);
  list = broken;
  const count = checked.length;
  now += 61 * MINUTE;
  await until(() => checked.length >= count + 4);
  expect(paid.alive()).toHaveLength(4);
  list = 'http://u:p@q.example.test:80\n';
  paid.reread();
  await until(() => paid.alive().length === 2);
  expect(paid.alive()[0]?.ip).toBe('q.example.test');
  list = '# nothing at the moment\n';
  paid.reread();
  await until(() => paid.alive().length === 0);
});
