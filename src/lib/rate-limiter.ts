/** A token bucket: it holds at most `capacity` tokens and gains `perSecond` tokens each second. */
export interface Bucket {
  capacity: number;
  perSecond: number;
}

export interface Verdict {
  allowed: boolean;
  /** Whole tokens left. */
  remaining: number;
  /** Ms until the cost is available; 0 if allowed. */
  retryAfterMs: number;
  /** Ms until the bucket is full again. */
  resetMs: number;
}

export interface RateLimiter {
  /**
   * Takes `cost` tokens (default: 1) from the bucket of `key`, all or none. An unused bucket is full. A `cost` above
   * the capacity is never allowed. A negative cost gives tokens back, up to the capacity, and is always allowed.
   * Returns without a promise if nothing has to be awaited, because most requests are counted.
   */
  take(key: string, bucket: Bucket, cost?: number): Verdict | Promise<Verdict>;
}

/**
 * Tolerance for floating-point sums, as a share of a token, so that a client that waits `retryAfterMs` is admitted.
 */
export const ROUNDING = 1e-6;

/** Returns the verdict on `cost` tokens of a bucket that has `left` tokens after it. */
export function verdictOn(
  { capacity, perSecond }: Bucket,
  cost: number,
  left: number,
  allowed: boolean,
): Verdict {
  return {
    allowed,
    remaining: Math.floor(Math.min(capacity, left) + ROUNDING),
    retryAfterMs: allowed ? 0 : msUntil(cost - left, perSecond),
    resetMs: msUntil(capacity - left, perSecond),
  };
}

function msUntil(tokens: number, perSecond: number): number {
  return tokens <= 0 ? 0 : Math.ceil((tokens / perSecond) * 1000);
}
