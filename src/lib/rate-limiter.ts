/** A token bucket: it holds at most `capacity` tokens and gains `perSecond` of them each second. */
export interface Bucket {
  capacity: number;
  perSecond: number;
}

export interface Verdict {
  allowed: boolean;
  /** Whole tokens left. */
  remaining: number;
  /** Until the asked cost is available; 0 when allowed. */
  retryAfterMs: number;
  /** Until the bucket is full again. */
  resetMs: number;
}

export interface RateLimiter {
  /**
   * Takes `cost` tokens (1 by default) from the bucket of `key`, all or none. A bucket that was never used
   * is full. A `cost` above the capacity is never allowed; one
   * below zero gives tokens back, up to the capacity, and always is. Answers without a promise where it need not wait for anyone: most
   * requests are counted.
   */
  take(key: string, bucket: Bucket, cost?: number): Verdict | Promise<Verdict>;
}
