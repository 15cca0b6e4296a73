import type { Clock } from '../../lib/clock.ts';
import { forEachBounded } from '../../lib/for-each-bounded.ts';

const HOSTS_AT_ONCE = 8;
/** Pause between two requests to one host. */
const GAP_MS = { least: 50, most: 250 } as const;

interface PoliteOptions<T> {
  /** Returns an empty string if no host is asked. */
  hostOf: (item: T) => string;
  work: (item: T) => Promise<void>;
  clock: Pick<Clock, 'sleep'>;
  random: () => number;
  signal: AbortSignal;
}

/** Works on several items at once, but never on two of one host, with a short random pause between those. */
export async function inTurnsByHost<T>(
  items: readonly T[],
  { hostOf, work, clock, random, signal }: PoliteOptions<T>,
): Promise<void> {
  const groups = Map.groupBy(items, hostOf);
  const tasks = [...groups].flatMap(([host, group]) => (host === '' ? group.map((item) => [item]) : [group]));
  // The longest queue first, because everything waits for it.
  tasks.sort((a, b) => b.length - a.length);
  await forEachBounded(
    tasks,
    HOSTS_AT_ONCE,
    async (row) => {
      for (const [index, item] of row.entries()) {
        if (signal.aborted) return;
        if (index > 0) await clock.sleep(GAP_MS.least + random() * (GAP_MS.most - GAP_MS.least), signal);
        await work(item);
      }
    },
    signal,
  );
}
