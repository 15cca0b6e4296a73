import type { StateStore } from '../../lib/state.ts';
import { mix } from './key.ts';

/** Whether an entry of a list is due: never tried, tried only in an earlier pass, or already tried. */
type Novelty = 'new' | 'again' | 'tried';

/**
 * Walks over all listed entries that the pool does not hold, again and again. Lists name ten times more
 * entries than the pool remembers, so failures are forgotten by the pool and remembered here, in bounded
 * memory. Each pass has its own order, by a keyed hash: no place in a list is a disadvantage, and what a
 * filter wrongly takes for tried is found by the next pass.
 */
export interface Pass {
  /** `list`: the index of the list that names it. */
  noveltyOf(key: number, list?: number): Novelty;
  /** Returns the key's position in the pass, from 0 to 1. */
  placeOf(key: number): number;
  /** Records that a check of the key begins. Until it ends the key counts as tried. */
  begin(key: number): void;
  /**
   * Records how the check has ended: `kept`: the pool has the outcome; `forgotten`: only this pass remembers it; `open`: it
   * said nothing, or could not be saved, so that the entry is still due, also after a restart.
   */
  end(key: number, outcome: 'kept' | 'forgotten' | 'open'): void;
  /** Records that every listed entry before this position was tried. Survives a restart. */
  reached(place: number): void;
  /** Number of entries tried in this pass. */
  readonly tried: number;
  readonly startedAt: number;
  /** Starts the next pass. */
  turn(now: number): void;
  /** Saves the position. */
  save(): Promise<void>;
  /**
   * Continues at the position of another copy of the server that has tried entries meanwhile. Whatever a list names
   * before it counts as tried, until `listRead`.
   */
  catchUp(): Promise<void>;
  /** Called when a list was read to its end: what it names later is new, wherever its position is. */
  listRead(list: number): void;
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
  /** Whether this process has tried anything. Until then, saved state takes precedence. */
  let hasBegun = false;
  /** The position up to which another process has tried everything, whose filter is not available here. */
  let before = 0;
  /** The lists that were read since. */
  const read = new Set<number | undefined>();
  /** The first position of an entry that is still due although its turn has come. */
  let firstOpen = 1;
  /** The pass that this process has ended. A clock that was set back would make it the later one. */
  let ended: number | null = null;
  let tried: Tried = createTried(saved.seed);
  let earlier: Tried | null = null;
  const running = new Set<number>();
  const placeOf = (key: number) => mix(key, saved.seed ^ 0x5bd1e995) / 2 ** 32;

  return {
    noveltyOf(key, list) {
      if (running.has(key) || tried.has(key)) return 'tried';
      if (before > 0 && placeOf(key) < before && !read.has(list)) {
        tried.add(key);
        return 'tried';
      }
      return earlier?.has(key) ? 'again' : 'new';
    },
    placeOf,
    begin(key) {
      hasBegun = true;
      running.add(key);
    },
    end(key, outcome) {
      if (!running.delete(key)) return;
      if (outcome === 'forgotten') tried.add(key);
      if (outcome === 'open') firstOpen = Math.min(firstOpen, placeOf(key));
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
      ended = saved.seed;
      firstOpen = 1;
      saved = { seed: newSeed(), startedAt: at, place: 0 };
      before = 0;
      earlier = tried;
      tried = createTried(saved.seed);
    },
    save() {
      // If this process dies, what it was trying is left to others.
      const place = Math.min(saved.place, firstOpen, ...[...running].map(placeOf));
      return state.set(KEY, JSON.stringify({ ...saved, place }));
    },
    async catchUp() {
      const text = await state.get(KEY);
      if (text === null) return;
      const theirs = JSON.parse(text) as SavedPass;
      if (theirs.seed === ended) return;
      const isSame = theirs.seed === saved.seed;
      const isOlder = isSame ? theirs.place <= saved.place : hasBegun && theirs.startedAt <= saved.startedAt;
      if (isOlder) return;
      hasBegun = true;
      if (!isSame) {
        tried = createTried(theirs.seed);
        earlier = null;
        firstOpen = 1;
      }
      saved = theirs;
      before = theirs.place;
      read.clear();
    },
    listRead: (list) => void read.add(list),
  };
}

/** Remembers any number of keys in at most 16 MiB, and forgets none. */
interface Tried {
  add(key: number): void;
  /**
   * Returns true for each added key, and wrongly for one in 10^9 others at two million keys, one in 90 at 13 million.
   */
  has(key: number): boolean;
  /** Number of added keys. */
  readonly size: number;
}

const BITS = 27;
const PROBES = 12;
/** Up to this many keys are kept as they are, which takes less than the filter. */
const FEW = 100_000;

/**
 * Creates a set, which becomes a Bloom filter at a hundred thousand keys. `seed`: filters with different
 * seeds are wrong about different keys.
 */
function createTried(seed: number): Tried {
  const few = new Set<number>();
  let words: Uint32Array | null = null;
  let size = 0;

  function mark(into: Uint32Array, key: number): void {
    const step = mix(key, ~seed) | 1;
    for (let probe = 0, bit = mix(key, seed); probe < PROBES; probe++, bit = (bit + step) | 0) {
      const word = bit >>> (37 - BITS);
      into[word] = (into[word] ?? 0) | (1 << ((bit >>> (32 - BITS)) & 31));
    }
  }

  function isMarked(inside: Uint32Array, key: number): boolean {
    const step = mix(key, ~seed) | 1;
    for (let probe = 0, bit = mix(key, seed); probe < PROBES; probe++, bit = (bit + step) | 0) {
      if (((inside[bit >>> (37 - BITS)] ?? 0) & (1 << ((bit >>> (32 - BITS)) & 31))) === 0) return false;
    }
    return true;
  }

  return {
    add(key) {
      size++;
      if (words) return mark(words, key);
      few.add(key);
      if (few.size < FEW) return;
      words = new Uint32Array(2 ** (BITS - 5));
      for (const one of few) mark(words, one);
      few.clear();
    },
    has: (key) => (words ? isMarked(words, key) : few.has(key)),
    get size() {
      return size;
    },
  };
}
