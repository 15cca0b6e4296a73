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
}

/**
 * Connects through the session's exit. If there is none yet, or it no longer works, the upstream that answers becomes
 * the exit.
 */
export function raceForSession(session: Session, { again, findOther }: Ways, onFound: OnFound): Race {
  let running: Race | null = null;
  let cancelled = false;

  function pinNew(triedBefore: number): void {
    running = findOther((result, tried) => {
      if (result) session.pin(result.member.upstream);
      session.leave();
      onFound(result, triedBefore + tried, false);
    });
  }

  function begin(): void {
    const { pinned, locked } = session;
    if (pinned === null) {
      pinNew(0);
      return;
    }
    const race = again(pinned, (result, tried) => {
      if (result || locked) {
        session.leave();
        onFound(result, tried, result === null);
      } else pinNew(tried);
    });
    // It may already have ended, and another may have begun in its place.
    if (race) running ??= race;
    else if (locked) {
      session.leave();
      onFound(null, 0, true);
    } else pinNew(0);
  }

  session.enter(() => {
    if (cancelled) session.leave();
    else begin();
  });
  return {
    cancel() {
      if (cancelled) return;
      cancelled = true;
      if (running === null) return;
      running.cancel();
      session.leave();
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
  const first = begin(group as Group, limitMs, (result, tried) => {
    const tries = triedBefore + tried;
    if (result !== null || others.length === 0) onEnd(result, tries);
    else if (!cancelled) next = raceInTurn(others, leftMs - limitMs, begin, onEnd, tries);
  });
  return {
    cancel() {
      cancelled = true;
      (next ?? first).cancel();
    },
  };
}
