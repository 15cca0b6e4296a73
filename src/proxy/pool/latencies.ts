import { cachedFor } from '../../lib/answer-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ProxyStore } from '../store.ts';

/** Upper bounds of response times in ms, inclusive. */
export const LATENCY_BOUNDS = [100, 250, 500, 1000, 2000, 4000] as const;

/** Counting reads all working proxies, so an answer is used for this long. */
const KEEP_MS = 15_000;

/**
 * Counts working proxies by response time: one count for each of `LATENCY_BOUNDS`, and a last one for slower
 * or unknown times.
 */
export function createLatencies(
  store: Pick<ProxyStore, 'responseTimes'>,
  clock: Pick<Clock, 'now'>,
): () => Promise<number[]> {
  async function count(): Promise<number[]> {
    const counts = Array.from({ length: LATENCY_BOUNDS.length + 1 }, () => 0);
    for await (const batch of store.responseTimes()) {
      for (const ms of batch) {
        const place = LATENCY_BOUNDS.findIndex((bound) => ms <= bound);
        const slot = place < 0 ? LATENCY_BOUNDS.length : place;
        counts[slot] = (counts[slot] ?? 0) + 1;
      }
    }
    return counts;
  }

  return cachedFor(KEEP_MS, clock.now, count);
}
