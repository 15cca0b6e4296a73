import type { StateStore } from '../../lib/state.ts';
import { mix } from './key.ts';
import { createTried, type Tried } from './tried.ts';

/** Whether an entry of a list has its turn: never tried, tried in an earlier pass alone, or not now. */
export type Novelty = 'new' | 'again' | 'tried';

/**
 * A walk over all that lists name and the pool does not hold, then the next one. Lists name ten times more
 * than the pool remembers, so that what failed is forgotten by the pool and remembered here, in bounded memory. Each
 * pass walks in an order of its own, by a keyed hash: no place in a list is a bad one, and what a filter wrongly
 * takes for tried is found by the next pass.
 */
export interface Pass {
  noveltyOf(key: number): Novelty;
  /** Where in the walk the key has its turn, from 0 to 1. */
  placeOf(key: number): number;
  /** A check of it begins. Until it ends the key counts as tried. */
  begin(key: number): void;
  /** The check has ended; `decided`: it said something about the proxy. */
  end(key: number, decided: boolean): void;
  /** All that is named and has a place before this was tried; kept over a restart. */
  reached(place: number): void;
  /** How many were tried in this pass. */
  readonly tried: number;
  readonly startedAt: number;
  /** Begins the next pass. */
  turn(now: number): void;
  /** Saves how far the walk has come. */
  save(): Promise<void>;
  /** Goes on where another copy of the server, which has walked meanwhile, has come to. */
  catchUp(): Promise<void>;
}

interface SavedPass {
  seed: number;
  startedAt: number;
  place: number;
}

const KEY = 'proxy:pass';

export function createPass(state: Pick<StateStore, 'get' | 'set'>, random: () => number, now: number): Pass {
  const newSeed = () => Math.floor(random() * 2 ** 32);
  let saved: SavedPass = { seed: newSeed(), startedAt: now, place: 0 };
  /** Whether this process has tried anything: before that, whatever is saved counts for more. */
  let hasBegun = false;
  /** What another process has tried, whose filter is not here. */
  let before = 0;
  let tried: Tried = createTried(saved.seed);
  let earlier: Tried | null = null;
  const running = new Set<number>();
  const placeOf = (key: number) => mix(key, saved.seed ^ 0x5bd1e995) / 2 ** 32;

  return {
    noveltyOf(key) {
      if (running.has(key) || tried.has(key) || (before > 0 && placeOf(key) < before)) return 'tried';
      return earlier?.has(key) ? 'again' : 'new';
    },
    placeOf,
    begin(key) {
      hasBegun = true;
      running.add(key);
    },
    end(key, decided) {
      if (running.delete(key) && decided) tried.add(key);
    },
    reached(place) {
      saved.place = Math.max(saved.place, place);
    },
    get tried() {
      return tried.size;
    },
    get startedAt() {
      return saved.startedAt;
    },
    turn(at) {
      saved = { seed: newSeed(), startedAt: at, place: 0 };
      before = 0;
      earlier = tried;
      tried = createTried(saved.seed);
    },
    save: () => state.set(KEY, JSON.stringify(saved)),
    async catchUp() {
      const text = await state.get(KEY);
      if (text === null) return;
      const theirs = JSON.parse(text) as SavedPass;
      const isSame = theirs.seed === saved.seed;
      const isOlder = isSame ? theirs.place <= saved.place : hasBegun && theirs.startedAt <= saved.startedAt;
      if (isOlder) return;
      hasBegun = true;
      if (!isSame) {
        tried = createTried(theirs.seed);
        earlier = null;
      }
      saved = theirs;
      before = theirs.place;
    },
  };
}
