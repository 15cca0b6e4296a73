import { BoundedMap } from './bounded-map.ts';
import { type Bucket, type RateLimiter, ROUNDING, type Verdict, verdictOn } from './rate-limiter.ts';

/** Token buckets on a server that all copies share. */
interface SharedBuckets {
  /**
   * Takes `cost` tokens, all or none. If it took them, it also takes up to `extra` more, but at most a quarter of the
   * rest. A negative cost gives tokens back, up to the capacity.
   */
  take(key: string, bucket: Bucket, cost: number, extra: number): Promise<Taken>;
}

export interface Taken {
  allowed: boolean;
  /** Tokens left in the bucket. */
  tokens: number;
  /** Tokens taken in addition to the cost. */
  extra: number;
}

/** How long unused tokens are held; then they are given back with the next request. */
const LEASE_MS = 1000;
/** A copy holds at most this share of a bucket. */
const SHARE = 1 / 20;
/** Number of costs that the first slice covers; each later one is twice as large. */
const FIRST_COSTS = 4;
/** Maximum number of keys remembered, some 10 MB. */
const MAX_KEYS = 100_000;

interface Slice {
  /** Tokens taken and not used yet. */
  left: number;
  /** Number of tokens taken at once the last time. */
  size: number;
  /** Tokens left in the bucket at the time `at`, in ms. */
  tokens: number;
  at: number;
  /** True while a slice is being requested. */
  asking: boolean;
}

/**
 * Creates a limiter that takes slices of tokens from shared buckets, so that most requests of a busy client do not
 * wait for the server: each copy holds at most a twentieth of a bucket, for a second. All copies together allow no
 * more than the bucket, plus a twentieth of it for each copy. A bucket of less than 20 tokens is never sliced. `now`
 * in ms; only differences count.
 */
export function createSlicingLimiter(buckets: SharedBuckets, now: () => number): RateLimiter {
  const slices = new BoundedMap<string, Slice>(MAX_KEYS);

  function newSlice(key: string, { capacity }: Bucket): Slice {
    const slice: Slice = { left: 0, size: 0, tokens: capacity, at: Number.NEGATIVE_INFINITY, asking: false };
    slices.set(key, slice);
    return slice;
  }

  async function ask(key: string, bucket: Bucket, cost: number, slice: Slice, isRecent: boolean) {
    const most = Math.floor(bucket.capacity * SHARE);
    const size = isRecent ? Math.min(most, Math.max(FIRST_COSTS * cost, 2 * slice.size)) : 0;
    const extra = slice.asking ? 0 : size;
    const held = slice.left;
    slice.left = 0;
    if (extra > 0) slice.asking = true;
    let taken: Taken | null = null;
    try {
      taken = await buckets.take(key, bucket, cost - held, extra);
    } finally {
      if (extra > 0) slice.asking = false;
      slice.left = Math.min(most, slice.left + (taken?.allowed ? taken.extra : held));
    }
    if (extra > 0) slice.size = extra;
    else if (!isRecent) slice.size = 0;
    slice.tokens = taken.tokens;
    slice.at = now();
    return verdictOn(bucket, cost, taken.tokens + slice.left, taken.allowed);
  }

  /** Handles what needs no slice: a query, returned tokens, and a cost larger than any slice. */
  async function askOnce(key: string, bucket: Bucket, cost: number): Promise<Verdict> {
    const { allowed, tokens } = await buckets.take(key, bucket, cost, 0);
    const slice = slices.get(key);
    if (slice) slice.tokens = tokens;
    return verdictOn(bucket, cost, tokens + (slice?.left ?? 0), allowed);
  }

  return {
    take(key, bucket, cost = 1) {
      if (cost <= 0 || cost > bucket.capacity * SHARE) return askOnce(key, bucket, cost);
      const slice = slices.get(key) ?? newSlice(key, bucket);
      const age = now() - slice.at;
      const isRecent = age < LEASE_MS;
      if (isRecent) {
        // Others may have taken some of it, never added to it.
        const there = slice.left + Math.min(bucket.capacity, slice.tokens + (age / 1000) * bucket.perSecond);
        if (cost <= slice.left) {
          slice.left -= cost;
          return verdictOn(bucket, cost, there - cost, true);
        }
        if (cost > there + ROUNDING) return verdictOn(bucket, cost, there, false);
      }
      return ask(key, bucket, cost, slice, isRecent);
    },
  };
}
