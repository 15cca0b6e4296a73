import type { StateStore } from '../../lib/state.ts';
import { mix } from './key.ts';

/** Whether an entry of a list is due: never tried, tried only in an earlier pass, or already tried. */
type Novelty = 'new' | 'again' | 'tried';

interface SavedPass {
  seed: number;
  startedAt: number;
  place: number;
}

const KEY = 'proxy:pass';

export function createPass(state: Pick<StateStore, 'get' | 'set'>, random: () => number, now: number) {
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
    /** `list`: the index of the list that names it. */
    noveltyOf(key: number, list?: number): Novelty {
      if (running.has(key) || tried.has(key)) return 'tried';
      if (before > 0 && placeOf(key) < before && !read.has(list)) {
        tried.add(key);
        return 'tried';
      }
      return earlier?.has(key) ? 'again' : 'new';
    },
    /** Returns the key's position in the pass, from 0 to 1. */
    placeOf,
    /** Records that a check of the key begins. Until it ends the key counts as tried. */
    begin(key: number): void {
      hasBegun = true;
      running.add(key);
    },
    /**
     * Records how the check has ended: `kept`: the pool has the outcome; `forgotten`: only this pass remembers it;
     * `open`: it said nothing, or could not be saved, so that the entry is still due, also after a restart.
     */
    end(key: number, outcome: 'kept' | 'forgotten' | 'open'): void {
      if (!running.delete(key)) return;
      if (outcome === 'forgotten') tried.add(key);
      if (outcome === 'open') firstOpen = Math.min(firstOpen, placeOf(key));
    },
    /** Records that every listed entry before this position was tried. Survives a restart. */
    reached(place: number): void {
      saved.place = Math.max(saved.place, place);
    },
    /** Number of entries tried in this pass. */
    get tried(): number {
      return tried.size;
    },
    get startedAt(): number {
      return saved.startedAt;
    },
    /** Starts the next pass. */
    turn(at: number): void {
      ended = saved.seed;
      firstOpen = 1;
      saved = { seed: newSeed(), startedAt: at, place: 0 };
      before = 0;
      earlier = tried;
      tried = createTried(saved.seed);
    },
    save(): Promise<void> {
      // If this process dies, what it was trying is left to others.
      const place = Math.min(saved.place, firstOpen, ...[...running].map(placeOf));
      return state.set(KEY, JSON.stringify({ ...saved, place }));
    },
    /**
     * Continues at the position of another copy of the server that has tried entries meanwhile. Whatever a list names
     * before it counts as tried, until `listRead`.
     */
    async catchUp(): Promise<void> {
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
    /** Called when a list was read to its end: what it names later is new, wherever its position is. */
    listRead: (list: number) => void read.add(list),
  };
}

/**
 * Walks over all listed entries that the pool does not hold, again and again. Lists name ten times more entries than
 * the pool remembers, so failures are forgotten by the pool and remembered here, in bounded memory. Each pass has its
 * own order, by a keyed hash: no place in a list is a disadvantage, and what a filter wrongly takes for tried is found
 * by the next pass.
 */
export type Pass = ReturnType<typeof createPass>;

const BITS = 27;
const PROBES = 12;
/** Up to this many keys are kept as they are, which takes less than the filter. */
const FEW = 100_000;

/**
 * Creates a set, which becomes a Bloom filter at a hundred thousand keys. `seed`: filters with different
 * seeds are wrong about different keys.
 */
function createTried(seed: number) {
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
    add(key: number) {
      size++;
      if (words) return mark(words, key);
      few.add(key);
      if (few.size < FEW) return;
      words = new Uint32Array(2 ** (BITS - 5));
      for (const one of few) mark(words, one);
      few.clear();
    },
    /**
     * Returns true for each added key, and wrongly for one in 10^9 others at two million keys, one in 90 at 13 million.
     */
    has: (key: number) => (words ? isMarked(words, key) : few.has(key)),
    /** Number of added keys. */
    get size(): number {
      return size;
    },
  };
}

/** Remembers any number of keys in at most 16 MiB, and forgets none. */
type Tried = ReturnType<typeof createTried>;
