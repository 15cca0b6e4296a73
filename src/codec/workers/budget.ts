import { AppError, message } from '../../errors.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';

/** Limits the CPU time that each client's conversions may use. */
export interface Budget {
  /** Takes the expected cost of a job, in ms. Rejects with `rate_limited`. */
  take(client: string, ms: number): Promise<void>;
  /** Takes what a job cost beyond that, up to what the budget holds. Never rejects. */
  charge(client: string, ms: number): Promise<void>;
}

/** Tokens of the bucket are CPU seconds. A job that costs more than the bucket holds takes a full bucket. */
export function createBudget(limiter: RateLimiter, bucket: Bucket): Budget {
  const take = (client: string, seconds: number) =>
    limiter.take(`conversion ${client}`, bucket, Math.min(seconds, bucket.capacity));
  return {
    async take(client, ms) {
      const { allowed, retryAfterMs } = await take(client, ms / 1000);
      if (allowed) return;
      const seconds = Math.ceil(retryAfterMs / 1000);
      throw new AppError(
        'rate_limited',
        message('Your conversions have used up their computing time; try again in {seconds} s.', { seconds }),
        { retryAfterMs },
      );
    },
    async charge(client, ms) {
      if (ms <= 0) return;
      try {
        const { remaining } = await take(client, 0);
        await take(client, Math.min(ms / 1000, remaining));
      } catch {
        // The store of the limits is unavailable; the job was paid in advance.
      }
    },
  };
}
