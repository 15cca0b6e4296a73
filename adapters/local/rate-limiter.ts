import { withFallback } from '../../src/lib/fallback-limiter.ts';
import { type RateLimiter, ROUNDING, verdictOn } from '../../src/lib/rate-limiter.ts';

/** Maximum number of buckets remembered, about 20 MB. */
const MAX_KEYS = 100_000;

/** Below this number of buckets, no sweep is worthwhile. */
const MIN_SWEEP = 1024;

interface State {
  tokens: number;
  /** When `tokens` was computed. */
  at: number;
  /** When the bucket is full again and can be forgotten. */
  fullAt: number;
}

interface LocalRateLimiterOptions {
  /** Ms since any moment. A clock that is set ahead would give everybody back what was counted. */
  now?: () => number;
  /** Maximum number of buckets remembered. Above it the oldest are forgotten, as if they were full. */
  maxKeys?: number;
}

/** A `RateLimiter` within one process: token buckets in a map of limited size. */
export function createLocalRateLimiter(options: LocalRateLimiterOptions = {}): RateLimiter {
  const { now = () => performance.now(), maxKeys = MAX_KEYS } = options;
  const buckets = new Map<string, State>();
  let sweepAt = Math.min(MIN_SWEEP, maxKeys);

  /**
   * Forgets full buckets, and a quarter of the others if there are too many. Rare enough to cost little for each
   * call.
   */
  function sweep(time: number): void {
    for (const [key, { fullAt }] of buckets) if (fullAt <= time) buckets.delete(key);
    const keep = Math.floor(maxKeys * 0.75);
    for (const key of buckets.size > keep ? buckets.keys() : []) {
      if (buckets.size <= keep) break;
      buckets.delete(key);
    }
    sweepAt = Math.min(maxKeys, Math.max(MIN_SWEEP, buckets.size * 2));
  }

  return {
    take(key, bucket, cost = 1) {
      const { capacity, perSecond } = bucket;
      const time = now();
      const state = buckets.get(key);
      const gained = state ? ((time - state.at) / 1000) * perSecond : 0;
      const before = state ? Math.min(capacity, state.tokens + gained) : capacity;
      const allowed = cost <= before + ROUNDING;
      const tokens = allowed ? Math.min(capacity, Math.max(0, before - cost)) : before;
      const verdict = verdictOn(bucket, cost, tokens, allowed);
      if (!state && buckets.size >= sweepAt) sweep(time);
      buckets.set(key, { tokens, at: time, fullAt: time + verdict.resetMs });
      return verdict;
    },
  };
}

/** A server's limiter that this process replaces while it is away; see `withFallback`. */
export const withLocalFallback = (limiter: RateLimiter, onAway?: (cause: unknown) => void) =>
  withFallback(limiter, createLocalRateLimiter(), undefined, onAway);
