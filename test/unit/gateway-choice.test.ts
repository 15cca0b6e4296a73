import { expect, test } from 'bun:test';
import { createHedges } from '../../src/gateway/hedges.ts';
import { Lane } from '../../src/gateway/lane.ts';
import { race } from '../../src/gateway/race.ts';
import { createRoster, unknownUpstream } from '../../src/gateway/upstream.ts';
import { createSites } from '../../src/proxy/targets/sites.ts';
import { NOBODY, type TcpSocket } from '../../src/runtime/tcp.ts';
import { createRandom } from '../support/random.ts';

test('proxies that reach a site are chosen for it', () => {
  const random = createRandom(3);
  const roster = createRoster(random);
  const lane = new Lane({ kind: 'tunnel', random, monotonic: () => 0, roster });
  const sites = createSites({ random });
  for (let n = 1; n <= 60; n++)
    roster.set(unknownUpstream({ protocol: 'http', ip: `127.0.0.${n}`, port: 1 }));
  for (let place = 1; place <= 60; place++) {
    const member = lane.choose(({ ip }) => ip === `127.0.0.${place}`);
    if (!member) throw new Error('it is not there');
    for (let n = 0; n < 10; n++) {
      lane.succeeded(member, 100);
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

test('a request that may try no further proxy uses up no attempts of others', async () => {
  const roster = createRoster(Math.random);
  const lane = new Lane({ kind: 'tunnel', random: Math.random, monotonic: () => 0, roster });
  for (let n = 1; n <= 5; n++) roster.set(unknownUpstream({ protocol: 'http', ip: `127.0.0.${n}`, port: 1 }));
  const silent: TcpSocket = {
    peer: '',
    listener: NOBODY,
    write: () => true,
    pause() {},
    resume() {},
    end() {},
    destroy() {},
  };
  let taken = 0;
  // Each look at the clock moves it, so that a slow machine changes nothing.
  let now = 0;
  const tries = await new Promise<number>((resolve) => {
    race(
      {
        tcp: { dial: () => silent },
        lane,
        target: { host: 'a.example', address: null, port: 443 },
        suits: () => true,
        leaning: {},
        planFor: () => ({ tunnel: true, payload: null, judge: () => 'more' }),
        width: 1,
        tries: 2,
        hedgeMs: 1,
        mayHedge: () => ++taken > 0,
        timeoutMs: 100,
        monotonic: () => (now += 5),
        onTry() {},
        onFailure() {},
      },
      (_, tried) => resolve(tried),
    );
  });
  expect([tries, taken]).toEqual([2, 1]);
});

test('a site whose answers take long gets no second request sooner than they take, and others do as before', () => {
  const hedges = createHedges();
  for (let n = 0; n < 64; n++) hedges.observe('fast.example', 100);
  const before = hedges.afterMs('fast.example');
  hedges.observe('slow.example', 2_000);
  expect(hedges.afterMs('slow.example')).toBeGreaterThan(2_000);
  expect([hedges.afterMs('fast.example'), hedges.afterMs('new.example')]).toEqual([before, before]);
  for (let n = 0; n < 500; n++) hedges.observe('hung.example', 60_000);
  expect(hedges.afterMs('hung.example')).toBe(5_000);
});
