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
  /** After this time, another exit is looked for, although the session's may still answer. */
  patienceMs: number;
}

/** How often a request follows its session to an exit that then fails as well. */
const MOST_MOVES = 3;

/**
 * Connects through the session's exit. If there is none yet, or it no longer works, the upstream that answers becomes
 * the exit. Of concurrent requests that need a new one, the first finds it, and the others follow.
 */
export function raceForSession(session: Session, ways: Ways, onFound: OnFound): Race {
  return new SessionRace(session, ways, onFound);
}

class SessionRace implements Race {
  readonly #session: Session;
  readonly #ways: Ways;
  readonly #onFound: OnFound;
  /** Of the session's exit, and of others. */
  readonly #races = new Set<{ race: Race | null }>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether another exit is looked for, and whether by this request. */
  #looks = false;
  #searches = false;
  #tried = 0;
  #moves = 0;
  #over = false;

  constructor(session: Session, ways: Ways, onFound: OnFound) {
    this.#session = session;
    this.#ways = ways;
    this.#onFound = onFound;
    this.#look(null);
  }

  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelAll();
    if (this.#searches) this.#session.leave();
  }

  /** Takes the exit of the session, unless it is `lost`, or finds another one. */
  #look(lost: string | null): void {
    this.#looks = true;
    this.#session.enter(lost, (pinned) => {
      this.#looks = false;
      if (this.#over) {
        if (pinned === null) this.#session.leave();
      } else if (pinned === null) this.#search();
      else this.#follow(pinned);
    });
  }

  #search(): void {
    this.#searches = true;
    this.#run(
      (onEnd) => this.#ways.findOther(onEnd),
      (result) => {
        this.#searches = false;
        if (result) this.#session.pin(result.member.upstream);
        else this.#moves = MOST_MOVES;
        if (result || this.#races.size === 0) this.#end(result);
        this.#session.leave();
      },
    );
  }

  #follow(pinned: string): void {
    const { locked } = this.#session;
    this.#cancelAll();
    if (!locked) this.#timer = setTimeout(() => this.#move(pinned), this.#ways.patienceMs);
    const race = this.#run(
      (onEnd) => this.#ways.again(pinned, onEnd),
      (result, timedOut) => {
        if (result || locked) this.#end(result, result === null && !timedOut);
        else this.#move(pinned);
      },
    );
    if (race) return;
    if (locked) this.#end(null, true);
    else this.#move(pinned);
  }

  /** Looks for another exit, if this does not happen already. */
  #move(lost: string): void {
    clearTimeout(this.#timer);
    if (this.#looks || this.#searches) return;
    if (++this.#moves <= MOST_MOVES) this.#look(lost);
    else if (this.#races.size === 0) this.#end(null);
  }

  #run(
    start: (onEnd: OnEnd) => Race | null,
    onEnd: (result: RaceResult | null, timedOut: boolean) => void,
  ): Race | null {
    const running: { race: Race | null } = { race: null };
    this.#races.add(running);
    running.race = start((result, tried, timedOut) => {
      this.#tried += tried;
      if (this.#races.delete(running)) onEnd(result, timedOut);
    });
    if (running.race === null) this.#races.delete(running);
    return running.race;
  }

  #cancelAll(): void {
    clearTimeout(this.#timer);
    for (const { race } of this.#races) race?.cancel();
    this.#races.clear();
  }

  #end(result: RaceResult | null, lost = false): void {
    const wasSearching = this.#searches;
    this.#over = true;
    this.#searches = false;
    this.#cancelAll();
    this.#onFound(result, this.#tried, lost);
    if (wasSearching) this.#session.leave();
  }
}
