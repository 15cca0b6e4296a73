import type { Queued } from './fair-queue.ts';

/** A job is cheap up to this CPU time in ms: a screenshot, a small photo, a version of one. */
const CHEAP_MS = 250;
/** A job is heavy above this CPU time in ms, which is far more than a phone's photo takes. */
const HEAVY_MS = 4000;

/**
 * Decides whether a job of that price may begin beside the running ones. The last of `workers + 1` seats is for cheap
 * jobs only, so that these never wait for long ones. Of the others, heavy jobs leave one to the rest.
 */
export function mayRunBeside(
  price: number,
  running: readonly Pick<Queued, 'price'>[],
  workers: number,
): boolean {
  const above = (ms: number) => running.filter((other) => other.price > ms).length;
  if (running.length > workers) return false;
  if (price > CHEAP_MS && above(CHEAP_MS) >= workers) return false;
  return price <= HEAVY_MS || above(HEAVY_MS) < Math.max(1, workers - 1);
}
