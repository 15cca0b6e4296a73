import { systemClock } from '../../src/lib/clock.ts';

/** What the work answers, or `null` where it takes longer; then the work goes on and its failure is nobody's. */
export async function within<T>(work: Promise<T>, ms: number): Promise<T | null> {
  work.catch(() => {});
  const waiting = new AbortController();
  const late = systemClock.sleep(Math.max(0, ms), waiting.signal).then(
    () => null,
    () => null,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    waiting.abort();
  }
}
