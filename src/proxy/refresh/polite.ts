import type { Clock } from '../../lib/clock.ts';
import { forEachBounded } from '../../lib/for-each-bounded.ts';

const HOSTS_AT_ONCE = 8;
/** Between two requests to one host. */
const GAP_MS = { least: 50, most: 250 } as const;

export interface PoliteOptions<T> {
  /** Empty: no host is asked. */
  hostOf: (item: T) => string;
  work: (item: T) => Promise<void>;
  clock: Pick<Clock, 'sleep'>;
  random: () => number;
  signal: AbortSignal;
}

/** Works on some at once, but never on two of one host, with a short pause of random length between those. */
export async function inTurnsByHost<T>(
  items: readonly T[],
  { hostOf, work, clock, random, signal }: PoliteOptions<T>,
): Promise<void> {
  const groups = Map.groupBy(items, hostOf);
  const tasks = [...groups].flatMap(([host, group]) => (host === '' ? group.map((item) => [item]) : [group]));
  // The longest row first: all wait for it.
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
