import { expect, test } from 'bun:test';
import type { OnEnd, RaceResult } from '../../src/gateway/race.ts';
import { raceForSession, type Ways } from '../../src/gateway/session-race.ts';
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
  const session = createSessions(() => 0).open('me', 'a', { sessionMs: 1000, locked });
  if (pinned !== undefined) session.pin(upstream(pinned));
  const found: [RaceResult | null, number, boolean][] = [];
  const races: Running[] = [];
  const start = (again: Ways['again']) =>
    raceForSession(
      session,
      {
        again,
        patienceMs: 60_000,
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
