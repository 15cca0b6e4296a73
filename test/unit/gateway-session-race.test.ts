import { expect, test } from 'bun:test';
import type { OnEnd, RaceResult } from '../../src/gateway/race.ts';
import { raceForSession, raceInTurn, type Ways } from '../../src/gateway/session-race.ts';
import { createSessions } from '../../src/gateway/sessions.ts';
import type { Upstream } from '../../src/gateway/upstream.ts';

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

const upstream = (key: string) => ({ key, ip: '192.0.2.1', exitIp: null }) as Upstream;
const wonBy = (key: string) => ({ member: { upstream: upstream(key) } }) as RaceResult;

function startSession({ pinned, locked = false }: { pinned?: string; locked?: boolean }) {
  const session = createSessions(() => 0).open('a', { sessionMs: 1000, locked });
  if (pinned !== undefined) session.pin(upstream(pinned));
  const found: [RaceResult | null, number, boolean][] = [];
  const races: Running[] = [];
  const start = (again: Ways['again']) =>
    raceForSession(
      session,
      {
        again,
        findOther(onEnd) {
          const race = new Running(onEnd);
          races.push(race);
          return race;
        },
      },
      (...outcome) => found.push(outcome),
    );
  return { session, found, races, start };
}

test('the winner of the first race becomes the exit of the session', () => {
  const { session, found, races, start } = startSession({});
  start(() => null);
  races[0]?.end(wonBy('b'), 2);
  expect(session.pinned).toBe('b');
  expect(found).toEqual([[wonBy('b'), 2, false]]);
});

test('a failed exit is replaced, and tries are added up', () => {
  const { session, found, races, start } = startSession({ pinned: 'dead' });
  let exit: Running | undefined;
  start((_, onEnd) => (exit = new Running(onEnd)));
  exit?.end(null, 1);
  races[0]?.end(wonBy('b'), 2);
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
    onEnd(null, 0);
    return new Running(onEnd);
  });
  race.cancel();
  expect(races.map(({ cancelled }) => cancelled)).toEqual([true]);
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
  begun[0]?.[2].end(null, 3);
  begun[1]?.[2].end(wonBy('b'), 2);
  expect(begun.map(([group, ms]) => [group, ms])).toEqual([
    ['paid', 4_000],
    ['mine', 2_000],
  ]);
  expect(ended).toEqual([[wonBy('b'), 5]]);
  const race = start();
  begun[2]?.[2].end(null, 1);
  begun[3]?.[2].end(null, 1);
  race.cancel();
  expect(begun.map(([, , { cancelled }]) => cancelled)).toEqual([false, false, false, false, true]);
  begun[4]?.[2].end(null, 1);
  expect(ended.at(-1)).toEqual([null, 3]);
});
