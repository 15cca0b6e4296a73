import { expect, test } from 'bun:test';
import type { Account } from '../../src/gateway/account.ts';
import type { Plan } from '../../src/gateway/attempt.ts';
import { Engine } from '../../src/gateway/engine.ts';
import { Hedges } from '../../src/gateway/hedges.ts';
import type { Lane } from '../../src/gateway/lane.ts';
import { unknownUpstream } from '../../src/gateway/upstream.ts';
import { createSites } from '../../src/proxy/targets/sites.ts';
import { createTestimony } from '../../src/proxy/targets/testimony.ts';
import type { Tcp, TcpListener } from '../../src/runtime/tcp.ts';
import { credit, startLane } from '../support/gateway/lane.ts';
import { silent } from '../support/gateway/silent.ts';
import { createRandom } from '../support/random.ts';
import { until } from '../support/stores/services.ts';

test('proxies that reach a site are chosen for it', () => {
  const random = createRandom(3);
  const { lane, roster } = startLane(random);
  const sites = createSites({ random });
  for (let n = 1; n <= 60; n++)
    roster.set(unknownUpstream({ protocol: 'http', ip: `127.0.0.${n}`, port: 1 }));
  for (let place = 1; place <= 60; place++) {
    const member = lane.choose(({ ip }) => ip === `127.0.0.${place}`);
    if (!member) throw new Error('it is not there');
    for (let n = 0; n < 10; n++) {
      credit(lane, member, 100);
      // Every third is blocked there.
      sites.observe('a.example', member.upstream.key, Number(member.upstream.ip.split('.')[3]) % 3 !== 0);
    }
  }
  let blocked = 0;
  for (let n = 0; n < 300; n++) {
    const chosen = lane.choose(() => true, {
      chance: ({ upstream: { key } }) => sites.draw('a.example', key, 0.9),
    });
    if (Number(chosen?.upstream.ip.split('.')[3]) % 3 === 0) blocked++;
  }
  expect(blocked).toBeLessThan(10);
});

type Options = Partial<ConstructorParameters<typeof Engine>[0]>;

function startEngine(more: Options = {}) {
  const monotonic = () => performance.now();
  return new Engine({
    tcp: { dial: () => silent() },
    testimony: createTestimony({ random: Math.random, monotonic }),
    tries: 2,
    timeoutMs: 60_000,
    random: Math.random,
    monotonic,
    onFailure: () => {},
    ...more,
  });
}

test('what accounts know is bounded over all of them, and the one that knows most forgets its oldest', () => {
  const engine = startEngine();
  const [small, big] = ['small', 'big'].map((id) => engine.laneOf('tunnel', { id, speaksForAll: false })) as [
    Lane,
    Lane,
  ];
  const numbered = (n: number) => {
    const ip = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    return unknownUpstream({ protocol: 'http', ip, port: 1 });
  };
  credit(small, small.take(numbered(0)), 100);
  for (let n = 0; n < 100_000; n++) credit(big, big.take(numbered(n)), 100);
  const known = [small.trusts(numbered(0)), big.trusts(numbered(0)), big.trusts(numbered(1))];
  expect(known).toEqual([true, false, true]);
});

const account = { id: 'me', speaksForAll: true } as Account;
const target = { host: 'a.example', address: null, port: 443 };
const admission = { account, suits: () => true, session: null, site: null, rotation: 'spread' } as const;
const DOUBT = { look: '502', mayBeOwn: false, refusal: false };

/** An engine with proxies that have passed a check; a test answers or ends each connection to one. */
function startRaces(count: number, more: Options = {}) {
  const dials: { ip: string; listener: TcpListener }[] = [];
  const dial: Tcp['dial'] = (ip, _port, listener) => {
    dials.push({ ip, listener });
    return silent();
  };
  const engine = startEngine({ tcp: { dial }, ...more });
  const lane = engine.laneOf('tunnel', account);
  const proxies = Array.from({ length: count }, (_, n) => {
    const proxy = unknownUpstream({ protocol: 'http', ip: `127.0.0.${n + 1}`, port: 1 });
    engine.set({ ...proxy, proven: true });
    return proxy;
  });
  const ended: { exit: string | undefined; tries: number }[] = [];
  const start = ({ doubt, wide = false }: { doubt?: Plan['doubt']; wide?: boolean } = {}) => {
    const planFor = () => ({ tunnel: true, payload: null, doubt, judge: () => 'more' as const });
    engine.find({ kind: 'tunnel', target, admission, planFor, wide }, (result, tries) =>
      ended.push({ exit: result?.attempt.member.upstream.ip, tries }),
    );
  };
  /** Ends what is pending; returns its addresses. */
  const end = (answers: boolean) =>
    dials.splice(0).map(({ ip, listener }) => {
      if (answers) listener.opened();
      if (answers) listener.received(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
      else listener.closed('ECONNREFUSED');
      return ip;
    });
  const fail = () => end(false);
  const answer = () => end(true);
  return { lane, proxies, dials, ended, start, fail, answer };
}

test('one that cannot be connected takes an eighth of a try, and is not left out, but comes after those that have not failed', () => {
  const { lane, proxies, ended, start, fail } = startRaces(40);
  const failed: string[] = [];
  for (const most of [1, 2]) {
    start();
    while (ended.length < most) failed.push(...fail());
  }
  expect(ended).toEqual(Array(2).fill({ exit: undefined, tries: 16 }));
  expect(new Set(failed).size).toBe(32);
  expect(proxies.map((proxy) => lane.take(proxy).ejectedUntil)).toEqual(Array(40).fill(0));
});

test('until a proxy is known to work, three more are tried each time', async () => {
  const { lane, dials, ended, start, answer } = startRaces(9);
  for (let n = 0; n < 100; n++) lane.hedges.observe(target.host, 1);
  start({ wide: true });
  expect(dials).toHaveLength(3);
  // On a busy machine, the next three may come as well.
  await until(() => dials.length > 3);
  expect(dials.length % 3).toBe(0);
  const tries = dials.length;
  answer();
  expect(ended).toEqual([{ exit: expect.any(String), tries }]);
});

test('an answer that may be the proxy itself is put down to the target after two exits if one has worked, otherwise three', () => {
  for (const [worked, tries] of [
    [true, 2],
    [false, 3],
  ] as const) {
    const { lane, proxies, ended, start, answer } = startRaces(9, { tries: 8 });
    for (const proxy of worked ? proxies : []) credit(lane, lane.take(proxy), 100);
    start({ doubt: DOUBT });
    while (ended.length === 0) answer();
    expect(ended).toEqual([{ exit: expect.any(String), tries }]);
  }
});

test('an answer that came in time is handed on, although it takes its proxy as long again to show that it is not its own', async () => {
  for (const [tookMs, exit] of [
    [150, '127.0.0.1'],
    [1, undefined],
  ] as const) {
    let [now, looks] = [0, 0];
    const monotonic = () => {
      looks++;
      return now;
    };
    const { ended, start, fail, answer } = startRaces(1, { monotonic, timeoutMs: 200 });
    start({ doubt: { ...DOUBT, mayBeOwn: true } });
    now = tookMs;
    answer();
    now = 210;
    const before = looks;
    await until(() => looks > before);
    now = 290;
    fail();
    expect(ended[0]?.exit).toBe(exit);
  }
});

test('what fails is blamed if one that has worked before answers, and not for the answer of any other', () => {
  for (const worked of [true, false]) {
    const { lane, proxies, ended, start, fail, answer } = startRaces(3, { tries: 8, random: () => 0.9 });
    for (const proxy of proxies.slice(worked ? 0 : 1)) credit(lane, lane.take(proxy), 100);
    start();
    const failed = [...fail(), ...fail()];
    const [last] = answer();
    expect(ended).toEqual([{ exit: last, tries: 3 }]);
    const blamed = proxies.filter(({ ip }) => failed.includes(ip)).map((proxy) => lane.take(proxy).failures);
    expect(blamed).toEqual(worked ? [1, 1] : [0, 0]);
  }
});

test('a request that may try no further proxy uses up no attempts of others', async () => {
  // Each look at the clock moves it, so that a slow machine changes nothing.
  let now = 0;
  const monotonic = () => (now += 5);
  const { lane, dials, ended, start } = startRaces(5, { monotonic, timeoutMs: 200 });
  for (let n = 0; n < 100; n++) lane.hedges.observe(target.host, 1);
  let taken = 0;
  lane.hedges.take = () => ++taken > 0;
  start();
  await until(() => {
    for (const { listener } of dials.splice(0)) listener.opened();
    return ended.length > 0;
  });
  expect([ended[0]?.tries, taken]).toEqual([2, 1]);
});

test('a site whose answers take long gets no second request sooner than they take, and others do as before', () => {
  const hedges = new Hedges();
  const unknown = hedges.afterMs('new.example');
  for (let n = 0; n < 64; n++) hedges.observe('fast.example', 100);
  const before = hedges.afterMs('fast.example');
  hedges.observe('slow.example', 2_000);
  expect(hedges.afterMs('slow.example')).toBeGreaterThan(2_000);
  expect([hedges.afterMs('fast.example'), hedges.afterMs('new.example')]).toEqual([before, unknown]);
  for (let n = 0; n < 500; n++) hedges.observe('hung.example', 60_000);
  expect(hedges.afterMs('hung.example')).toBe(5_000);
});
