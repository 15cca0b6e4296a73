import type { OnEnd, Race, RaceResult } from './race.ts';
import type { Session } from './sessions.ts';

/** `lost`: the exit of a locked session has died. */
export type OnFound = (result: RaceResult | null, tries: number, lost: boolean) => void;

/** The two ways to an exit. */
export interface Ways {
  /** Through the session's exit; `null` if it is gone. */
  again(pinned: string, onEnd: OnEnd): Race | null;
  /** Through any upstream that can become the exit of a session. */
  findOther(onEnd: OnEnd): Race;
  /** Time limit for an answer, after which a request no longer waits for another one that looks for an exit. */
  limitMs: number;
}

/** Share of the time limit after which another exit is looked for, although the session's may still answer. */
const PATIENCE = 0.5;
/** How often a request follows its session to an exit that then fails as well. */
const MOST_MOVES = 3;

/**
 * Connects through the session's exit. If there is none yet, or it no longer works, the upstream that answers becomes
 * the exit. Of concurrent requests that need a new one, the first finds it, and the others follow.
 */
export function raceForSession(
  session: Session,
  { again, findOther, limitMs }: Ways,
  onFound: OnFound,
): Race {
  /** Through the session's exit, and through others; `null` until they have begun. */
  const races = new Map<symbol, Race | null>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether another exit is looked for, or waited for, and whether by this request. */
  let looking = false;
  let searching = false;
  let tries = 0;
  let moves = 0;
  let over = false;

  /** Takes the exit of the session, unless it is `lost`, or finds another one. */
  function look(lost: string | null): void {
    looking = true;
    // Each of those that wait could otherwise add a search of its own to the time of the next.
    timer = setTimeout(() => {
      tries++;
      end(null);
    }, limitMs);
    session.enter(lost, (pinned) => {
      if (over && pinned === null) session.leave();
      if (over) return;
      clearTimeout(timer);
      looking = pinned === null;
      if (pinned === null) search();
      else follow(pinned);
    });
  }

  function search(): void {
    searching = true;
    run(findOther, (result) => {
      looking = false;
      searching = false;
      if (result) session.pin(result.member.upstream);
      else moves = MOST_MOVES;
      if (result || races.size === 0) end(result);
      session.leave();
    });
  }

  function follow(pinned: string): void {
    const { locked } = session;
    cancelAll();
    if (!locked) timer = setTimeout(() => move(pinned), limitMs * PATIENCE);
    const lose = (lost: boolean) => (locked ? end(null, lost) : move(pinned));
    const begun = run(
      (onEnd) => again(pinned, onEnd),
      (result, timedOut) => {
        if (!result) return lose(!timedOut);
        if (session.pinned === pinned) session.pin(result.member.upstream);
        end(result);
      },
    );
    if (!begun) lose(true);
  }

  /** Looks for another exit, if this does not happen already. */
  function move(lost: string): void {
    clearTimeout(timer);
    if (looking) return;
    if (++moves <= MOST_MOVES) look(lost);
    else if (races.size === 0) end(null);
  }

  /** Returns false if there is nothing to run. */
  function run(
    start: (onEnd: OnEnd) => Race | null,
    onEnd: (result: RaceResult | null, timedOut: boolean) => void,
  ): boolean {
    const id = Symbol();
    races.set(id, null);
    const race = start((result, tried, timedOut) => {
      tries += tried;
      if (races.delete(id)) onEnd(result, timedOut);
    });
    // It may already have ended.
    if (race !== null && races.has(id)) races.set(id, race);
    else races.delete(id);
    return race !== null;
  }

  function cancelAll(): void {
    clearTimeout(timer);
    for (const race of races.values()) race?.cancel();
    races.clear();
  }

  /** Ends everything. Others may then search. */
  function finish(): void {
    over = true;
    cancelAll();
    if (searching) session.leave();
  }

  function end(result: RaceResult | null, lost = false): void {
    finish();
    onFound(result, tries, lost);
  }

  look(null);
  return {
    cancel() {
      if (!over) finish();
    },
  };
}

/**
 * Races one group after the other until an upstream answers. Each but the last has half of the time that is left.
 * `begin`: starts the race of a group with a limit in ms.
 */
export function raceInTurn<Group>(
  [group, ...others]: readonly Group[],
  leftMs: number,
  begin: (group: Group, limitMs: number, onEnd: OnEnd) => Race,
  onEnd: OnEnd,
  triedBefore = 0,
): Race {
  let next: Race | null = null;
  let cancelled = false;
  const limitMs = others.length === 0 ? leftMs : leftMs / 2;
  const first = begin(group as Group, limitMs, (result, tried, ...more) => {
    const tries = triedBefore + tried;
    if (result !== null || others.length === 0) onEnd(result, tries, ...more);
    else if (!cancelled) next = raceInTurn(others, leftMs - limitMs, begin, onEnd, tries);
  });
  return {
    cancel() {
      cancelled = true;
      (next ?? first).cancel();
    },
  };
}
