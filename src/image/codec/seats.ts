import type { Queued } from './fair-queue.ts';

/** CPU time in ms up to which a job is cheap: a screenshot, a small photo, a version of one. */
const CHEAP_MS = 250;
/** CPU time in ms above which a job is heavy: far more than the photo of a phone. */
const HEAVY_MS = 4000;

/**
 * Whether a job of that price may begin beside those that run. Of `workers + 1` seats the last is for cheap jobs
 * alone, so that these never wait for long ones; and of the others, heavy jobs leave one to the rest.
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
