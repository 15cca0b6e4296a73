import { expect, test } from 'bun:test';
import { Engine } from '../../src/gateway/engine.ts';
import { type Asked, Journal } from '../../src/gateway/journal.ts';
import { Sessions } from '../../src/gateway/sessions.ts';
import { type Upstream, unknownUpstream } from '../../src/gateway/upstream.ts';
import { createTestimony } from '../../src/proxy/targets/testimony.ts';
import type { TcpListener } from '../../src/runtime/tcp.ts';
import { createRandom } from '../support/random.ts';
import { until } from '../support/stores/services.ts';

const upstream = (key: string) => ({ key, ip: '192.0.2.1', exitIp: null, login: null, id: null }) as Upstream;

/** A connection to a proxy, which connects or fails when the test says so. */
class Dial {
  readonly ip: string;
  readonly peer = '';
  listener: TcpListener;
  cancelled = false;
  constructor(ip: string, listener: TcpListener) {
    this.ip = ip;
    this.listener = listener;
  }
  answer(): void {
    this.listener.opened();
    this.listener.received(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
  }
  fail(): void {
    this.listener.closed('ECONNRESET');
  }
  write(): boolean {
    return true;
  }
  pause(): void {}
  resume(): void {}
  end(): void {}
  destroy(): void {
    this.cancelled = true;
  }
}

const A = '192.0.2.1';
const B = '192.0.2.2';
const C = '192.0.2.3';

/** A session and its requests, with a proxy on each of the addresses. `pinned`: the exit that it has. */
function startSession({
  ips = [A, B],
  pinned,
  locked = false,
  timeoutMs = 60_000,
  sources,
  suits = () => true,
}: {
  ips?: string[];
  pinned?: string;
  locked?: boolean;
  timeoutMs?: number;
  sources?: Set<string>[] | undefined;
  suits?: Asked['admission']['suits'];
}) {
  /** It stands, so that nothing is late on a slow machine, and counts who looks. */
  const clock = { now: 0, looks: 0 };
  const monotonic = () => {
    clock.looks++;
    return clock.now;
  };
  const random = createRandom(1);
  const dials: Dial[] = [];
  const doubted: string[] = [];
  const engine = new Engine({
    tcp: {
      dial(ip, _port, listener) {
        const dial = new Dial(ip, listener);
        dials.push(dial);
        return dial;
      },
    },
    testimony: createTestimony({ random, monotonic }),
    tries: 8,
    timeoutMs,
    random,
    monotonic,
    onFailure: ({ ip }) => void doubted.push(ip),
  });
  const sessions = new Sessions(() => 0);
  const open = (name: string) => sessions.open('me', name, { sessionMs: 1000, locked });
  const session = open('a');
  const add = (ip: string, exitIp: string | null = null, source = '') => {
    const proven = true;
    const proxy = { ...unknownUpstream({ protocol: 'http', ip, port: 1 }), proven, exitIp, source };
    engine.set(proxy);
    return proxy;
  };
  for (const ip of ips) {
    const proxy = add(ip);
    if (ip === pinned) session.pin(proxy, null);
  }
  const found: { exit: string | undefined; tries: number; lost: boolean }[] = [];
  const start = () =>
    engine.find(
      {
        kind: 'tunnel',
        target: { host: 'a.example', address: null, port: 443 },
        admission: {
          account: { id: 'me', speaksForAll: true } as Asked['admission']['account'],
          suits,
          session,
          sources,
          site: null,
          rotation: 'spread',
        },
        planFor: () => ({ tunnel: true, payload: null, judge: () => 'more' }),
        wide: false,
      },
      (result, tries, lost) => found.push({ exit: result?.attempt.member.upstream.ip, tries, lost }),
    );
  /** What the account has seen. */
  const evidence = () =>
    engine.laneOf('tunnel', { id: 'me', speaksForAll: true } as Asked['admission']['account']);
  return { session, open, add, found, dials, doubted, start, evidence, clock };
}

test('a session leaves an exit that has cut two answers, one after the other', () => {
  const { session, add } = startSession({ pinned: A });
  const own = add(A);
  for (const began of [-3, -2, -1]) session.ended(own, true, began);
  expect(session.pinned).toBe(own.key);
  session.ended(own, false, 1);
  session.ended(own, true, 2);
  expect(session.pinned).toBe(own.key);
  session.ended(own, true, 3);
  expect(session.pinned).toBeNull();
});

const exitOf = (key: string | null) => key?.split(/[/:]+/)[1];

test('the winner of the first race becomes the exit of the session, which other sessions leave to it', () => {
  const { session, open, found, dials, start } = startSession({ ips: [A] });
  start();
  dials[0]?.answer();
  expect(found).toEqual([{ exit: A, tries: 1, lost: false }]);
  expect(exitOf(session.pinned)).toBe(A);
  expect(open('b').isTaken(A)).toBe(true);
});

test('other sessions leave a session all exits that may become its own, until one has', () => {
  const { session, open, add } = startSession({ ips: [] });
  const exits = [A, B, C].map((ip) => add(ip));
  const [slow, failed] = exits as [Upstream, Upstream];
  for (const exit of exits) session.hold(exit);
  const taken = () => [A, B, C].map((ip) => open('b').isTaken(ip));
  expect(taken()).toEqual([true, true, true]);
  session.drop(failed);
  expect(taken()).toEqual([true, false, true]);
  session.pin(slow, null);
  session.drop(slow);
  expect(taken()).toEqual([true, false, false]);
});

test('a failed exit is replaced, and tries are added up', () => {
  const { session, found, dials, start } = startSession({ pinned: A });
  start();
  dials[0]?.fail();
  dials[1]?.answer();
  expect(dials.map(({ ip }) => ip)).toEqual([A, B]);
  expect(found).toEqual([{ exit: B, tries: 2, lost: false }]);
  expect(session.headers()[0]).toBe('X-Picpool-Session: moved');
});

test('exits that all fail are not blamed, but checked', () => {
  const { dials, doubted, start, evidence, add } = startSession({});
  start();
  for (const dial of dials) dial.fail();
  expect(doubted.sort()).toEqual([A, B]);
  expect([A, B].map((ip) => evidence().take(add(ip)).bad)).toEqual([0, 0]);
});

test('a locked session whose exit fails or has left fails, and tries no other', () => {
  const { found, dials, start, session } = startSession({ pinned: A, locked: true });
  start();
  dials[0]?.fail();
  session.pin({ ...upstream('gone') }, session.pinned);
  start();
  expect(found).toEqual([
    { exit: undefined, tries: 1, lost: true },
    { exit: undefined, tries: 0, lost: true },
  ]);
  expect(dials.length).toBe(1);
});

test('a session leaves its exit for a request that it does not fit, and fails if it is locked', () => {
  for (const locked of [false, true]) {
    const { found, dials, start, session, add } = startSession({
      pinned: A,
      locked,
      suits: ({ ip }) => ip !== A,
    });
    // One of its requests that began before it had an exit still tries this one.
    session.hold(add(B));
    start();
    dials[0]?.answer();
    expect(found).toEqual([{ exit: locked ? undefined : B, tries: locked ? 0 : 1, lost: locked }]);
  }
});

test('an abort ends all attempts, and counts what has failed before', () => {
  const { found, dials, start, evidence, add } = startSession({ pinned: A });
  const race = start();
  dials[0]?.fail();
  race.cancel();
  expect([dials[1]?.cancelled, found]).toEqual([true, []]);
  expect([A, B].map((ip) => evidence().take(add(ip)).failures)).toEqual([1, 0]);
});

test.each([
  ['kept if it answers before another one', 0, A],
  ['given up if another one answers first', 1, B],
])('an exit that takes long is %s', async (_, first, exit) => {
  const { session, found, dials, start } = startSession({ pinned: A, timeoutMs: 400 });
  start();
  await until(() => dials.length === 2);
  dials[first]?.answer();
  expect([exitOf(session.pinned), found.length, dials[1 - first]?.cancelled]).toEqual([exit, 1, true]);
});

test.each([[undefined], [[new Set(['paid']), new Set(['free'])]]])(
  'the exit of a locked session is not lost if only the time was too short, with lists in order %p',
  async (sources) => {
    const { found, start, clock } = startSession({ pinned: A, locked: true, timeoutMs: 2, sources });
    start();
    clock.now = 2;
    await until(() => found.length > 0);
    expect(found).toEqual([{ exit: undefined, tries: 1, lost: false }]);
  },
);

test('requests that have lost the same exit try the same ones after it, and all get the one that answers', () => {
  const { session, found, dials, start } = startSession({ ips: [A, B, C], pinned: A });
  for (let request = 0; request < 3; request++) start();
  for (const dial of dials.splice(0)) dial.fail();
  expect(new Set(dials.map(({ ip }) => ip)).size).toBe(1);
  for (const dial of dials.splice(0)) dial.fail();
  expect(new Set(dials.map(({ ip }) => ip)).size).toBe(1);
  for (const dial of dials.splice(0)) dial.answer();
  expect(new Set(found.map(({ exit }) => exit))).toEqual(new Set([exitOf(session.pinned)]));
  expect(found.length).toBe(3);
});

test('a request that has found another exit than the first of its session takes that of the first', () => {
  const { session, add, found, dials, start } = startSession({ ips: [A] });
  start();
  session.drop(unknownUpstream({ protocol: 'http', ip: A, port: 1 }));
  add(B);
  start();
  const [first, second] = dials;
  first?.answer();
  expect(second?.ip === first?.ip).toBe(false);
  second?.answer();
  dials[2]?.answer();
  expect(found.map(({ exit }) => exit)).toEqual([A, A]);
});

test('a session that was moved while its exit still answers does not go back to it', () => {
  const { session, found, dials, start } = startSession({ pinned: A });
  start();
  expect(session.move()).toBe(true);
  dials[0]?.answer();
  expect(found).toEqual([{ exit: A, tries: 1, lost: false }]);
  expect(session.pinned).toBeNull();
});

test('what the exit of a session has answered is delivered, even if the session has found another one', () => {
  const { session, add, found, dials, start } = startSession({ pinned: A });
  start();
  session.pin(add(B), session.pinned);
  dials[0]?.answer();
  expect([found, dials.length]).toEqual([[{ exit: A, tries: 1, lost: false }], 1]);
  expect(exitOf(session.pinned)).toBe(B);
});

test('requests whose exit has left the pool try the same one after it', () => {
  const { session, dials, start } = startSession({ ips: [A, B, C] });
  session.pin(unknownUpstream({ protocol: 'http', ip: '192.0.2.77', port: 1 }), null);
  for (let count = 0; count < 4; count++) start();
  expect(new Set(dials.map(({ ip }) => ip)).size).toBe(1);
});

test('a session whose exit is silent moves even if its account has no attempts left, and a locked one uses none', async () => {
  for (const locked of [false, true]) {
    const { dials, start, evidence, clock } = startSession({ pinned: A, locked, timeoutMs: 300 });
    const { hedges } = evidence();
    while (!locked && hedges.take());
    const before = locked ? hedges.take() : false;
    start();
    const { looks } = clock;
    await until(() => clock.looks > looks + 1);
    clock.now = 300;
    await until(() => dials.every(({ cancelled }) => cancelled));
    expect([locked, dials.map(({ ip }) => ip)]).toEqual([locked, locked ? [A] : [A, B]]);
    let left = 0;
    while (hedges.take()) left++;
    expect([before, left > 390]).toEqual([locked, locked]);
  }
});

test('the rotation knows which exits the sessions of its account use', () => {
  const { dials, start, evidence } = startSession({ pinned: A });
  start();
  dials[0]?.answer();
  const { visits } = evidence().leaningAt('a.example', 'a.example');
  expect(visits?.latest(A)).toBeGreaterThan(visits?.latest(B) ?? 0);
});

test('a session tells of the address that its exit has now, and keeps other sessions from it', () => {
  const { session, open, add, dials, start } = startSession({ ips: [] });
  session.pin(add(A, '192.0.2.8'), null);
  add(A, '192.0.2.9');
  start();
  dials[0]?.answer();
  expect(session.headers()).toContain('X-Picpool-Exit: 192.0.2.9');
  const other = open('other');
  expect(['192.0.2.8', '192.0.2.9'].map((exit) => other.isTaken(exit))).toEqual([false, true]);
});

test('an account keeps its sessions and its last exits, however many sessions another one opens', () => {
  const sessions = new Sessions(() => 0);
  const journal = new Journal(() => 0);
  const use = (account: string, name: string) => {
    const session = sessions.open(account, name, { sessionMs: 1000, locked: true });
    session.pin(upstream('b'), null);
    const admission = { account: { id: account }, session } as Asked['admission'];
    const asked: Asked = {
      kind: 'plain',
      target: { host: 'a.example', address: null, port: 80 },
      admission,
      startedAt: 0,
    };
    journal.note(asked, { outcome: 'served', ms: 1, tries: 1, member: { upstream: upstream('b') } });
    return session;
  };
  use('me', 'cart');
  for (let n = 0; n < 20_100; n++) use('flood', `${n}`);
  expect(sessions.find('me', 'cart')?.pinned).toBe('b');
  expect(sessions.open('me', 'next', { sessionMs: 1000, locked: false }).isTaken('192.0.2.1')).toBe(true);
  expect(journal.last('me', 'cart')?.session).toBe('cart');
  expect(sessions.find('flood', '0')).toBeUndefined();
});

test('an exit counts as used for a while after it has served, also if the clock is set back', () => {
  let now = 1e12;
  const journal = new Journal(() => now);
  const asked = {
    kind: 'plain',
    target: { host: 'a.example', address: null, port: 80 },
    startedAt: 0,
  } as const;
  const admission = { account: { id: 'me' }, session: null } as unknown as Asked['admission'];
  const result = { outcome: 'served', ms: 1, tries: 1, member: { upstream: upstream('b') } } as const;
  journal.note({ ...asked, admission }, result);
  // What took a request and returned nothing has served nobody.
  const other = { upstream: { ...upstream('c'), exitIp: '192.0.2.9' } };
  journal.note({ ...asked, admission }, { ...result, outcome: 'no_answer', member: other });
  expect(journal.exitsUsed()).toBe(1);
  now -= 3_600_000;
  expect(journal.exitsUsed()).toBe(0);
});

test('groups of lists are raced in order, the next only if none of the first answers, in the same time', async () => {
  const sources = [new Set(['paid']), new Set(['mine']), new Set(['free'])];
  const { add, found, dials, start, clock } = startSession({ ips: [], sources, timeoutMs: 400 });
  add(A, null, 'paid');
  add(B, null, 'mine');
  add(C, null, 'free');
  start();
  dials[0]?.fail();
  // The second of three groups has half of what is left.
  clock.now = 199;
  const { looks } = clock;
  await until(() => clock.looks > looks + 1);
  expect(dials.map(({ ip }) => ip)).toEqual([A, B]);
  clock.now = 200;
  await until(() => dials.length === 3);
  expect([dials[1]?.cancelled, dials[2]?.ip]).toEqual([true, C]);
  dials[2]?.answer();
  expect(found).toEqual([{ exit: C, tries: 3, lost: false }]);
  start().cancel();
  expect(dials.slice(3).map(({ cancelled }) => cancelled)).toEqual([true]);
});
