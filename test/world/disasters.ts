import { between, happens, oneOf } from './chance.ts';
import { MINUTE, pause, trueTime } from './time.ts';

/** What happens to a store as a whole, until its operator puts back what was there. Times in ms since 1970. */
export interface Disaster {
  store: 'records' | 'files';
  /** What is found meanwhile: what was there at that time, or nothing, as where a disk is not mounted. */
  found: number | null;
  from: number;
  until: number;
}

/** A store that can hold again what it held before. */
interface Replaceable {
  /** Returns how to put back what it holds now. */
  backup(): () => void | Promise<void>;
  clear(): void | Promise<void>;
}

/** Draws what happens in a world whose trouble begins and ends then. */
export function drawDisaster(begin: number, end: number): Disaster {
  // Where the operator is long away, what seems to be left over is removed meanwhile.
  const isLong = happens(0.3);
  const from = between(begin + 5 * MINUTE, begin + (isLong ? 0.2 : 0.7) * (end - begin));
  return {
    store: oneOf(['records', 'files']),
    found: happens(0.5) ? null : between(begin, from),
    from,
    until: isLong ? end : Math.min(end, from + MINUTE * 10 ** between(0, 2.4)),
  };
}

/** Lets it happen, and puts back what was there. `struck`: called each time that the store is another one. */
export async function strike(
  { found, from, until }: Disaster,
  store: Replaceable,
  struck: (what: string) => void,
): Promise<void> {
  await pause((found ?? from) - trueTime());
  const earlier = store.backup();
  await pause(from - trueTime());
  const right = store.backup();
  if (found === null) await store.clear();
  else await earlier();
  struck(found === null ? 'are empty' : 'are those of earlier');
  await pause(until - trueTime());
  await right();
  struck('are put back');
}

/** Whether any of the time from `from` to `to` is part of it. */
export function isDuring(disaster: Disaster | null, from: number, to: number): boolean {
  return disaster !== null && from < disaster.until && to > disaster.from;
}
