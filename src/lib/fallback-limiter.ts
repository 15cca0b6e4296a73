import { within } from './deadline.ts';
import type { RateLimiter, Verdict } from './rate-limiter.ts';

/** Longer than a working server takes. */
const PATIENCE_MS = 300;
/** A failure after less than this continues the one before. */
const AWAY_MS = 60_000;
/** How long the fallback is used before the first limiter is tried again. */
const PAUSE_MS = 1000;

/**
 * A limiter that uses another one while the first fails or hangs, so that requests that need no server, such as lists
 * of proxies, still work: each copy then limits on its own. `now` in ms; only differences count. `onAway` is called
 * when the first one begins to fail.
 */
export function withFallback(
  first: RateLimiter,
  fallback: RateLimiter,
  now: () => number = () => performance.now(),
  onAway: (cause: unknown) => void = () => {},
): RateLimiter {
  let failedAt = Number.NEGATIVE_INFINITY;

  async function inTime(
    asked: Promise<Verdict>,
    instead: () => Verdict | Promise<Verdict>,
  ): Promise<Verdict> {
    try {
      return await within(PATIENCE_MS, asked);
    } catch (cause) {
      if (now() - failedAt > AWAY_MS) onAway(cause);
      failedAt = now();
      return instead();
    }
  }

  return {
    take(key, bucket, cost) {
      if (now() - failedAt < PAUSE_MS) return fallback.take(key, bucket, cost);
      const verdict = first.take(key, bucket, cost);
      return verdict instanceof Promise ? inTime(verdict, () => fallback.take(key, bucket, cost)) : verdict;
    },
  };
}
