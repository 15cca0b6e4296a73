import { expect, test } from 'bun:test';
import { Draw } from '../../src/gateway/draw.ts';
import type { Lane, Leaning, Member } from '../../src/gateway/lane.ts';
import { unknownUpstream } from '../../src/gateway/upstream.ts';
import { createVisits, NEVER_SEEN } from '../../src/gateway/visits.ts';
import { credit, startLane } from '../support/gateway/lane.ts';
import { createRandom } from '../support/random.ts';

const anybody = () => true;

function laneOf(count: number, exitIpOf: (n: number) => string | null = () => null) {
  let now = 0;
  const random = createRandom(7);
  const { lane, roster } = startLane(random, () => now);
  const members = Array.from({ length: count }, (_, n) => {
    const ip = `127.0.0.${n + 1}`;
    roster.set({ ...unknownUpstream({ protocol: 'http', ip, port: 1 }), exitIp: exitIpOf(n) });
    const member = lane.choose((upstream) => upstream.ip === ip);
    if (!member) throw new Error('it is not there');
    return member;
  });
  return {
    lane,
    members,
    advance: (ms: number) => {
      now += ms;
    },
    /** Lets each succeed as often as told, within this time. */
    prove: (times: number, msOf: (n: number) => number = () => 100) => {
      for (const [n, member] of members.entries()) {
        for (let time = 0; time < times; time++) credit(lane, member, msOf(n));
      }
    },
  };
}

function chosen(lane: Lane, times: number, leaning: Leaning = {}): Map<Member | undefined, number> {
  const counts = new Map<Member | undefined, number>();
  for (let n = 0; n < times; n++) {
    const member = lane.choose(anybody, leaning);
    counts.set(member, (counts.get(member) ?? 0) + 1);
  }
  return counts;
}

const most = (counts: Map<unknown, number>) => Math.max(...counts.values());

test('each site gets the exit that it has not seen for longest', () => {
  const { lane, prove } = laneOf(30);
  prove(3);
  const visits = createVisits();
  for (const site of ['a.example', 'b.example']) {
    const counts = chosen(lane, 60, { visits: visits('me', site) });
    expect([counts.size, most(counts)]).toEqual([30, 2]);
  }
});

test('a site that is new gets the exits that other sites have not seen for longest', () => {
  const { lane, prove } = laneOf(30);
  prove(3);
  const visits = createVisits();
  const counts = new Map<Member | undefined, number>();
  for (let n = 0; n < 30; n++) {
    const member = lane.choose(anybody, { visits: visits('me', `s${n}.example`) });
    counts.set(member, (counts.get(member) ?? 0) + 1);
  }
  expect(counts.size).toBe(30);
});

test('each site gets all exits in turn, however many sites there are', () => {
  const { lane, prove } = laneOf(10);
  prove(3);
  const visits = createVisits();
  const sites = Array.from({ length: 500 }, (_, n) => visits('me', `s${n}.example`));
  const seen = sites.map(() => new Set<Member | undefined>());
  for (let turn = 0; turn < 10; turn++)
    for (const [n, site] of sites.entries()) seen[n]?.add(lane.choose(anybody, { visits: site }));
  expect(Math.min(...seen.map(({ size }) => size))).toBe(10);
});

test('of an exit among many, the latest eight sites are remembered, and that it was at others', () => {
  const visits = createVisits();
  const many = 12_500;
  for (let n = 0; n < many; n++) visits('me', 's0.example').note(`exit ${n}`);
  for (let n = 1; n < 9; n++) visits('me', `s${n}.example`).note('exit 0');
  const latestOf = (n: number) => visits('me', `s${n}.example`).latest('exit 0');
  expect([latestOf(0), latestOf(1), latestOf(8)]).toEqual([NEVER_SEEN + many + 8, many + 1, many + 8]);
});

test('proxies with the same exit get the share of one', () => {
  const { lane, members, prove } = laneOf(20, (n) => (n < 11 ? '192.0.2.1' : `192.0.2.${n}`));
  prove(3);
  const counts = chosen(lane, 100, { visits: createVisits()('me', 'a.example') });
  const shared = members.slice(0, 11).map((member) => counts.get(member) ?? 0);
  expect(shared.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(11);
});

test('one that is much faster than all others does not get all requests, and slow ones get none', () => {
  const { lane, members, prove } = laneOf(20);
  prove(5, (n) => (n === 0 ? 1 : n < 15 ? 300 : 5_000));
  const counts = chosen(lane, 150, { visits: createVisits()('me', 'a.example') });
  expect([counts.size, most(counts)]).toEqual([15, 10]);
  expect(counts.has(members[19])).toBe(false);
  const random = chosen(lane, 150, { rotation: 'random' });
  expect(random.size).toBe(15);
});

test('one that has worked once gets its turn like those that have worked often', () => {
  const { lane, members, prove } = laneOf(20);
  prove(1);
  for (const member of members.slice(1)) for (let n = 0; n < 20; n++) credit(lane, member, 100);
  expect(chosen(lane, 20, { visits: createVisits()('me', 'a.example') }).size).toBe(20);
});

test('those to avoid come after the untried, those that others hold after the rest, and none is left out', () => {
  const { lane, members } = laneOf(3);
  const [worked, other, untried] = members as [Member, Member, Member];
  credit(lane, worked, 100);
  credit(lane, other, 100);
  const exits =
    (...some: Member[]) =>
    (exit: string) =>
      some.some(({ upstream }) => upstream.ip === exit);
  const avoid = exits(worked, other);
  expect(lane.choose(anybody, { avoid })).toBe(untried);
  expect(lane.choose(anybody, { avoid, taken: exits(untried) })).toBe(untried);
  expect(chosen(lane, 9, { avoid: () => true }).size).toBe(2);
  lane.failed(untried, 'unreachable');
  expect(chosen(lane, 9, { avoid }).has(untried)).toBe(false);
});

test('one with tunnels that have proven nothing yet waits for its proof while others have none', () => {
  const { lane, members, prove } = laneOf(5);
  prove(3);
  const [silent] = members as [Member];
  silent.unproven = 2;
  expect(chosen(lane, 40).has(silent)).toBe(false);
  for (const member of members) member.unproven = 2;
  expect(chosen(lane, 40, { visits: createVisits()('me', 'a.example') }).has(silent)).toBe(true);
});

test('an untried one is tried for one request at a time', () => {
  const { lane, members } = laneOf(3);
  const [first, second, third] = members as [Member, Member, Member];
  credit(lane, third, 100);
  first.busy = 1;
  for (let n = 0; n < 20; n++) expect(lane.choose(anybody, {}, 'first')).toBe(second);
  second.busy = 1;
  expect(lane.choose(anybody, {}, 'first')).toBe(third);
  expect(lane.choose(anybody, {}, 'only')).toBeUndefined();
});

test('fast: proxies that worked are chosen, the fastest and least busy of a few', () => {
  const { lane, members } = laneOf(10);
  const [fast, slow, busy] = members as [Member, Member, Member];
  for (let n = 0; n < 20; n++) {
    credit(lane, fast, 100);
    credit(lane, slow, 900);
    credit(lane, busy, 100);
  }
  busy.busy = 50;
  const counts = chosen(lane, 900, { rotation: 'fast' });
  expect(counts.get(fast) ?? 0).toBeGreaterThan(700);
});

test('fast: of proxies that all work, the slower half gets hardly anything', () => {
  const { lane, members, prove } = laneOf(20);
  prove(5, (n) => 100 * (n + 1));
  const counts = chosen(lane, 300, { rotation: 'fast' });
  const slower = members.slice(10).map((member) => counts.get(member) ?? 0);
  expect(slower.reduce((sum, one) => sum + one, 0)).toBeLessThan(20);
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
  expect(lane.choose(anybody, {}, 'only')).toBeUndefined();
  expect(lane.choose(anybody)).toBeDefined();
});

test('a trusted proxy keeps its trust after a failure, but not after a false certificate', () => {
  const { lane, members } = laneOf(2);
  const [unlucky, false_] = members as [Member, Member];
  for (let n = 0; n < 5; n++) {
    credit(lane, unlucky, 100);
    credit(lane, false_, 100);
  }
  lane.failed(unlucky, 'closed');
  lane.distrusted(false_, 'a.example:443');
  expect([lane.trusts(unlucky.upstream), lane.trusts(false_.upstream)]).toEqual([true, false]);
});

test('a certificate that nobody trusts, through whatever exit, is held against its target alone', () => {
  const { lane, members } = laneOf(6);
  const trusted = () => members.filter(({ upstream }) => lane.trusts(upstream)).length;
  for (const member of members) credit(lane, member, 100);
  const [first, second, third] = members as [Member, Member, Member];
  const after = [first, second, second, third].map((member) => {
    lane.distrusted(member, 'expired.example:443');
    return trusted();
  });
  expect(after).toEqual([5, 4, 4, 6]);
  for (const member of members) lane.distrusted(member, 'expired.example:443');
  expect(trusted()).toBe(6);
  // Another target, and the same one after its certificate was renewed.
  lane.distrusted(first, 'b.example:443');
  lane.distrust.trusted('expired.example:443', 0);
  lane.distrusted(second, 'expired.example:443');
  expect(trusted()).toBe(4);
});

test('answers that are cut count once each, and not against a target that another exit has delivered meanwhile', () => {
  const { lane, members } = laneOf(6);
  for (const member of members) credit(lane, member, 100);
  lane.distrust.trusted('a.example:443', 10);
  for (const member of members.slice(0, 4)) {
    const noteEnd = lane.begun(member, 'a.example:443', null);
    for (const since of [8, 9]) noteEnd('cut', since);
  }
  expect(members.filter(({ upstream }) => lane.trusts(upstream))).toHaveLength(2);
  expect(members.map(({ failures }) => failures)).toEqual([1, 1, 1, 1, 0, 0]);
});

test('of two proxies that work, both are enough to hold a certificate against its target', () => {
  const { lane, members } = laneOf(2);
  for (const member of members) credit(lane, member, 100);
  for (const member of members) lane.distrusted(member, 'expired.example:443');
  expect(members.every(({ upstream }) => lane.trusts(upstream))).toBe(true);
});

test('proxies of which nothing is known stay blamed for false certificates, however many there are', () => {
  const { lane, members } = laneOf(20);
  const [good, ...unknown] = members as [Member, ...Member[]];
  credit(lane, good, 100);
  for (const member of unknown) lane.distrusted(member, 'a.example:443');
  expect(unknown.filter(({ ejectedUntil }) => ejectedUntil > 0)).toHaveLength(19);
});

test('when all trusted proxies fail at once, none loses its trust', () => {
  const { lane, members } = laneOf(40);
  for (const member of members) {
    for (let n = 0; n < 5; n++) credit(lane, member, 100);
  }
  for (let round = 0; round < 12; round++) {
    for (const member of members) lane.failed(member, 'unreachable');
  }
  expect(members.filter(({ upstream }) => lane.trusts(upstream)).length).toBeGreaterThanOrEqual(20);
});

test('a choice looks at some hundred that have failed, but at all before it takes one that is shut out', () => {
  const draw = new Draw<{ key: string }>(createRandom(1));
  for (let n = 0; n < 9_000; n++) draw.set({ key: `${n}` });
  let looks = 0;
  const rankOf = (rank: number, { key }: { key: string }) => {
    looks++;
    return key === '4000' ? 0 : rank;
  };
  draw.some(2, (one) => rankOf(0.5, one));
  expect(looks).toBeLessThan(1_000);
  expect(draw.some(2, (one) => rankOf(1, one))).toEqual([{ key: '4000' }]);
});
