import type { RateLimiter } from '../../src/lib/rate-limiter.ts';

/** Most buckets remembered, about 20 MB. */
const MAX_KEYS = 100_000;

/** So few buckets are never worth a sweep. */
const MIN_SWEEP = 1024;

/** Share of a token that floating-point sums may be off, so that a client that waits `retryAfterMs` is let in. */
const ROUNDING = 1e-6;

interface State {
  tokens: number;
  /** When `tokens` was right, ms since 1970. */
  at: number;
  /** When the bucket is full again and can be forgotten. */
  fullAt: number;
}

export interface LocalRateLimiterOptions {
  /** Milliseconds since 1970. */
  now: () => number;
  /** Most buckets remembered; above that the oldest are forgotten, as if they were full. */
  maxKeys?: number;
}

/** `RateLimiter` within one process: token buckets in a map that cannot grow without bound. */
export function createLocalRateLimiter({ now, maxKeys = MAX_KEYS }: LocalRateLimiterOptions): RateLimiter {
  const buckets = new Map<string, State>();
  let sweepAt = Math.min(MIN_SWEEP, maxKeys);

  /** Forgets full buckets, and a quarter of the others if they are too many; rare enough to cost little per call. */
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
    take(key, { capacity, perSecond }, cost = 1) {
      const time = now();
      const state = buckets.get(key);
      const gained = state ? (Math.max(0, time - state.at) / 1000) * perSecond : 0;
      const before = state ? Math.min(capacity, state.tokens + gained) : capacity;
      const allowed = cost <= before + ROUNDING;
      const tokens = allowed ? Math.min(capacity, Math.max(0, before - cost)) : before;
      const resetMs = msUntil(capacity - tokens, perSecond);
      if (state) {
        state.tokens = tokens;
        state.at = time;
        state.fullAt = time + resetMs;
      } else {
        if (buckets.size >= sweepAt) sweep(time);
        buckets.set(key, { tokens, at: time, fullAt: time + resetMs });
      }
      return {
        allowed,
        remaining: Math.floor(tokens + ROUNDING),
        retryAfterMs: allowed ? 0 : msUntil(cost - tokens, perSecond),
        resetMs,
      };
    },
  };
}

function msUntil(tokens: number, perSecond: number): number {
  return tokens <= 0 ? 0 : Math.ceil((tokens / perSecond) * 1000);
}
