import { expect, test } from 'bun:test';
import type { Account } from '../../src/gateway/account.ts';
import { Engine } from '../../src/gateway/engine.ts';
import { Hedges } from '../../src/gateway/hedges.ts';
import type { Lane } from '../../src/gateway/lane.ts';
import { unknownUpstream } from '../../src/gateway/upstream.ts';
import { createSites } from '../../src/proxy/targets/sites.ts';
import { createTestimony } from '../../src/proxy/targets/testimony.ts';
import { NOBODY, type TcpSocket } from '../../src/runtime/tcp.ts';
import { credit, startLane } from '../support/gateway/lane.ts';
import { createRandom } from '../support/random.ts';

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

const silent: TcpSocket = {
  peer: '',
  listener: NOBODY,
  write: () => true,
  pause() {},
  resume() {},
  end() {},
  destroy() {},
};

function startEngine(more: Partial<ConstructorParameters<typeof Engine>[0]> = {}) {
  const monotonic = () => performance.now();
  return new Engine({
    tcp: { dial: () => silent },
    testimony: createTestimony({ random: Math.random, monotonic }),
    tries: 2,
    timeoutMs: 200,
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

test('a request that may try no further proxy uses up no attempts of others', async () => {
  // Each look at the clock moves it, so that a slow machine changes nothing.
  let now = 0;
  const monotonic = () => (now += 5);
  const engine = startEngine({ monotonic });
  for (let n = 1; n <= 5; n++) engine.set(unknownUpstream({ protocol: 'http', ip: `127.0.0.${n}`, port: 1 }));
  const account = { id: 'me', speaksForAll: true } as Account;
  const hedges = engine.laneOf('tunnel', account).hedges;
  for (let n = 0; n < 100; n++) hedges.observe('a.example', 1);
  let taken = 0;
  hedges.take = () => ++taken > 0;
  const tries = await new Promise<number>((resolve) => {
    const target = { host: 'a.example', address: null, port: 443 };
    const planFor = () => ({ tunnel: true, payload: null, judge: () => 'more' as const });
    const admission = { account, suits: () => true, session: null, site: null, rotation: 'spread' } as const;
    engine.find({ kind: 'tunnel', target, admission, planFor, wide: false }, (_, tried) => resolve(tried));
  });
  expect([tries, taken]).toEqual([2, 1]);
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
