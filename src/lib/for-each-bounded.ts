import { breathe } from './schedule.ts';

/** Number of starts before other work gets a turn: a start may cost 100 us. */
const STARTS = 50;

/**
 * Runs `work` over the items, at most `limit` at once, and resolves when all have ended. Items are drawn one by one
 * as places become free, so the source may be endless or slow. Nothing is drawn after `signal` has aborted; running
 * work is awaited. The first error stops the drawing, and is thrown at the end.
 */
export async function forEachBounded<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  let running = 0;
  let starts = 0;
  // One waiter at a time. Promise.race over everything that runs would cost a reaction for each task in every turn.
  let onEnd = () => {};
  const anEnd = () =>
    new Promise<void>((resolve) => {
      onEnd = resolve;
    });
  const start = async (item: T) => {
    running++;
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
    } finally {
      running--;
      onEnd();
    }
  };
  if (signal?.aborted) return;
  for await (const item of items) {
    void start(item);
    if (++starts % STARTS === 0) await breathe();
    while (running >= limit) await anEnd();
    if (signal?.aborted || failures.length > 0) break;
  }
  while (running > 0) await anEnd();
  if (failures.length > 0) throw failures[0];
}
