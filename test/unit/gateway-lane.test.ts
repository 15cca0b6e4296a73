import { expect, test } from 'bun:test';
import { Lane, type Member } from '../../src/gateway/lane.ts';
import { Roster } from '../../src/gateway/roster.ts';
import { unknownUpstream } from '../../src/gateway/upstream.ts';
import { createRandom } from '../support/random.ts';

const anybody = () => true;

function laneOf(count: number) {
  let now = 0;
  const random = createRandom(7);
  const roster = new Roster(random);
  const lane = new Lane({ kind: 'tunnel', random, monotonic: () => now, roster });
  for (let n = 0; n < count; n++) {
    roster.set(unknownUpstream({ protocol: 'http', ip: `127.0.0.${n + 1}`, port: 1 }));
  }
  const members = Array.from({ length: count }, (_, n) => lane.memberOf(`http://127.0.0.${n + 1}:1`)).filter(
    (member) => member !== undefined,
  );
  return {
    lane,
    members,
    advance: (ms: number) => {
      now += ms;
    },
  };
}

function chosen(lane: Lane, times: number): Map<Member | undefined, number> {
  const counts = new Map<Member | undefined, number>();
  for (let n = 0; n < times; n++) {
    const member = lane.choose(anybody, { rotation: 'fast' });
    counts.set(member, (counts.get(member) ?? 0) + 1);
  }
  return counts;
}

test('proxies that worked are chosen, the faster and less busy of two', () => {
  const { lane, members } = laneOf(10);
  const [fast, slow, busy] = members as [Member, Member, Member];
  for (let n = 0; n < 20; n++) {
    lane.succeeded(fast, 100);
    lane.succeeded(slow, 900);
    lane.succeeded(busy, 100);
  }
  busy.busy = 50;
  const counts = chosen(lane, 900);
  expect(counts.size).toBe(3);
  expect(counts.get(fast) ?? 0).toBeGreaterThan(400);
});

test('a failed proxy is left out for a while', () => {
  const { lane, members, advance } = laneOf(3);
  const [first] = members as [Member];
  lane.failed(first, 'closed');
  expect(chosen(lane, 200).has(first)).toBe(false);
  advance(30_001);
  for (const member of members.slice(1)) lane.failed(member, 'closed');
  expect(lane.choose(anybody)).toBe(first);
});

test('when all are left out, they are tried anyway', () => {
  const { lane, members } = laneOf(3);
  for (const member of members) lane.failed(member, 'timeout');
  expect(lane.sizes()).toEqual({ trusted: 0, untried: 0, ejected: 3 });
  expect(lane.choose(anybody)).toBeDefined();
});

test('a trusted proxy keeps its trust after a failure, but not after a false certificate', () => {
  const { lane, members } = laneOf(2);
  const [unlucky, false_] = members as [Member, Member];
  for (let n = 0; n < 5; n++) {
    lane.succeeded(unlucky, 100);
    lane.succeeded(false_, 100);
  }
  lane.failed(unlucky, 'closed');
  lane.failed(false_, 'distrusted');
  expect([lane.trusts(unlucky.upstream), lane.trusts(false_.upstream)]).toEqual([true, false]);
});

test('when all trusted proxies fail at once, none loses its trust', () => {
  const { lane, members } = laneOf(40);
  for (const member of members) {
    for (let n = 0; n < 5; n++) lane.succeeded(member, 100);
  }
  for (let round = 0; round < 12; round++) {
    for (const member of members) lane.failed(member, 'unreachable');
  }
  expect(lane.sizes().trusted).toBeGreaterThanOrEqual(20);
});

test('only suitable proxies are chosen', () => {
  const { lane } = laneOf(50);
  for (let n = 0; n < 50; n++) {
    expect(lane.choose(({ ip }) => ip === '127.0.0.42')?.upstream.ip).toBe('127.0.0.42');
  }
  expect(lane.choose(() => false)).toBeUndefined();
});
