import { expect, test } from 'bun:test';
import { type Asked, createJournal } from '../../src/gateway/journal.ts';
import type { OnEnd, RaceResult } from '../../src/gateway/race.ts';
import { raceForSession, raceInTurn, type Ways } from '../../src/gateway/session-race.ts';
import { createSessions } from '../../src/gateway/sessions.ts';
import type { Upstream } from '../../src/gateway/upstream.ts';
import { until } from '../support/stores/services.ts';

/** A race that ends when the test says so. */
class Running {
  cancelled = false;
  readonly end: OnEnd;
  constructor(end: OnEnd) {
    this.end = end;
  }
  cancel(): void {
    this.cancelled = true;
  }
}

const upstream = (key: string) => ({ key, ip: '192.0.2.1', exitIp: null, login: null, id: null }) as Upstream;
const wonBy = (key: string) => ({ member: { upstream: upstream(key) } }) as RaceResult;

function startSession({
  pinned,
  locked = false,
  limitMs = 60_000,
}: {
  pinned?: string;
  locked?: boolean;
  limitMs?: number;
}) {
  const session = createSessions(() => 0).open('me', 'a', { sessionMs: 1000, locked });
  if (pinned !== undefined) session.pin(upstream(pinned));
  const found: [RaceResult | null, number, boolean][] = [];
  const races: Running[] = [];
  const searching = Promise.withResolvers<void>();
  const start = (again: Ways['again']) =>
    raceForSession(
      session,
      {
        again,
        limitMs,
        findOther(onEnd) {
          const race = new Running(onEnd);
          races.push(race);
          searching.resolve();
          return race;
        },
      },
      (...outcome) => found.push(outcome),
    );
  return { session, found, races, start, searching: searching.promise };
}

test('the winner of the first race becomes the exit of the session', () => {
  const { session, found, races, start } = startSession({});
  start(() => null);
  races[0]?.end(wonBy('b'), 2, false);
  expect(session.pinned).toBe('b');
  expect(found).toEqual([[wonBy('b'), 2, false]]);
});

test('a failed exit is replaced, and tries are added up', () => {
  const { session, found, races, start } = startSession({ pinned: 'dead' });
  let exit: Running | undefined;
  start((_, onEnd) => (exit = new Running(onEnd)));
  exit?.end(null, 1, false);
  races[0]?.end(wonBy('b'), 2, false);
  expect(session.pinned).toBe('b');
  expect(found).toEqual([[wonBy('b'), 3, false]]);
});

test('a locked session without its exit fails', () => {
  const { found, races, start } = startSession({ pinned: 'dead', locked: true });
  start(() => null);
  expect(found).toEqual([[null, 0, true]]);
  expect(races).toEqual([]);
});

test('an abort ends the race for a new exit, also if the old one failed at once', () => {
  const { races, start } = startSession({ pinned: 'dead' });
  const race = start((_, onEnd) => {
    onEnd(null, 0, false);
    return new Running(onEnd);
  });
  race.cancel();
  expect(races.map(({ cancelled }) => cancelled)).toEqual([true]);
});

test('an exit that takes long is kept if it answers before another one', async () => {
  const { session, found, races, start, searching } = startSession({ pinned: 'slow', limitMs: 2 });
  let exit: Running | undefined;
  start((_, onEnd) => (exit = new Running(onEnd)));
  await searching;
  exit?.end(wonBy('slow'), 1, false);
  expect([session.pinned, races[0]?.cancelled, found.length]).toEqual(['slow', true, 1]);
});

test('an exit that takes long is given up if another one answers first', async () => {
  const { session, found, races, start, searching } = startSession({ pinned: 'silent', limitMs: 2 });
  let exit: Running | undefined;
  start((_, onEnd) => (exit = new Running(onEnd)));
  await searching;
  races[0]?.end(wonBy('b'), 1, false);
  expect([session.pinned, exit?.cancelled, found.length]).toEqual(['b', true, 1]);
});

test('the exit of a locked session is not lost if only the time was too short', () => {
  const { found, start } = startSession({ pinned: 'slow', locked: true });
  let exit: Running | undefined;
  start((_, onEnd) => (exit = new Running(onEnd)));
  exit?.end(null, 1, true);
  expect(found).toEqual([[null, 1, false]]);
});

test('requests that have lost the same exit follow the first to the next one, also if that one fails first', () => {
  const { session, found, races, start } = startSession({ pinned: 'dead' });
  const exits: [string, Running][] = [];
  const again: Ways['again'] = (pinned, onEnd) => {
    const race = new Running(onEnd);
    exits.push([pinned, race]);
    return race;
  };
  const requests = [start(again), start(again), start(again)];
  for (const [, exit] of exits.splice(0)) exit.end(null, 1, false);
  expect(races.length).toBe(1);
  // The one that searches gives up, and another one searches.
  requests[0]?.cancel();
  expect(races.length).toBe(2);
  races[1]?.end(wonBy('b'), 1, false);
  expect(exits.map(([pinned]) => pinned)).toEqual(['b']);
  exits[0]?.[1].end(wonBy('b'), 1, false);
  expect([session.pinned, found.length]).toEqual(['b', 2]);
});

test('a request does not wait for the search of another one any longer than for its own', async () => {
  const { found, races, start } = startSession({ limitMs: 1 });
  start(() => null);
  start(() => null);
  await until(() => found.length > 0);
  expect(found).toEqual([[null, 1, false]]);
  races[0]?.end(wonBy('b'), 2, false);
  expect([races.length, found.length]).toEqual([1, 2]);
});

test('a session tells of the address that its exit has now, and keeps other sessions from it', () => {
  const sessions = createSessions(() => 0);
  const open = (name: string) => sessions.open('me', name, { sessionMs: 1000, locked: false });
  const session = open('a');
  const leavingFrom = (exitIp: string) => ({ ...upstream('b'), exitIp });
  session.pin(leavingFrom('192.0.2.1'));
  const again: Ways['again'] = (_, onEnd) => {
    const race = new Running(onEnd);
    queueMicrotask(() => onEnd({ member: { upstream: leavingFrom('192.0.2.2') } } as RaceResult, 1, false));
    return race;
  };
  return new Promise<void>((resolve) => {
    const ways = {
      again,
      findOther: (onEnd: OnEnd) => new Running(onEnd),
      limitMs: 60_000,
    };
    raceForSession(session, ways, () => {
      expect(session.headers()).toContain('X-Picpool-Exit: 192.0.2.2');
      expect(['192.0.2.1', '192.0.2.2'].map(open('other').isTaken)).toEqual([false, true]);
      resolve();
    });
  });
});

test('an account keeps its sessions and its last exits, however many sessions another one opens', () => {
  const sessions = createSessions(() => 0);
  const journal = createJournal(() => 0);
  const use = (account: string, name: string) => {
    const session = sessions.open(account, name, { sessionMs: 1000, locked: true });
    session.pin(upstream('b'));
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
  expect(sessions.pinnedOf('me', 'cart')).toBe('b');
  expect(sessions.open('me', 'next', { sessionMs: 1000, locked: false }).isTaken('192.0.2.1')).toBe(true);
  expect(journal.last('me', 'cart')?.session).toBe('cart');
  expect(sessions.pinnedOf('flood', '0')).toBeNull();
});

test('exits that were used before the clock was set back do not count as used just now', () => {
  let now = 1e12;
  const journal = createJournal(() => now);
  const asked = {
    kind: 'plain',
    target: { host: 'a.example', address: null, port: 80 },
    startedAt: 0,
  } as const;
  const admission = { account: { id: 'me' }, session: null } as unknown as Asked['admission'];
  const result = { outcome: 'served', ms: 1, tries: 1, member: { upstream: upstream('b') } } as const;
  journal.note({ ...asked, admission }, result);
  expect(journal.exitsUsed()).toBe(1);
  now -= 3_600_000;
  expect(journal.exitsUsed()).toBe(0);
});

test('groups of lists are raced in order, the next only if none of the first answers, in the same time', () => {
  const begun: [string, number, Running][] = [];
  const ended: [RaceResult | null, number][] = [];
  const start = () =>
    raceInTurn(
      ['paid', 'mine', 'free'],
      8_000,
      (group, ms, onEnd) => {
        const race = new Running(onEnd);
        begun.push([group, ms, race]);
        return race;
      },
      (result, tries) => ended.push([result, tries]),
    );
  start();
  begun[0]?.[2].end(null, 3, false);
  begun[1]?.[2].end(wonBy('b'), 2, false);
  expect(begun.map(([group, ms]) => [group, ms])).toEqual([
    ['paid', 4_000],
    ['mine', 2_000],
  ]);
  expect(ended).toEqual([[wonBy('b'), 5]]);
  const race = start();
  begun[2]?.[2].end(null, 1, false);
  begun[3]?.[2].end(null, 1, false);
  race.cancel();
  expect(begun.map(([, , { cancelled }]) => cancelled)).toEqual([false, false, false, false, true]);
  begun[4]?.[2].end(null, 1, false);
  expect(ended.at(-1)).toEqual([null, 3]);
});
