import { mix } from './key.ts';

/** Remembers any number of keys in at most 16 MiB, and forgets none. */
export interface Tried {
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
export function createTried(seed: number): Tried {
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
