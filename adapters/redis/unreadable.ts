import type { Log } from '../../src/lib/logger.ts';

/** Records that the log names; of others it tells once that there are more. */
const MOST_NAMED = 20;
/** Records that are remembered, and so the most that are counted. */
const MOST_KNOWN = 10_000;

/**
 * Records that cannot be read: damaged, or of a version that this program does not know. They are passed over, so that one
 * of them stops nothing else.
 */
export interface Unreadable {
  /** What the work answers, or `null` if it throws; then the record is noted. */
  read<T>(id: string, work: () => T): T | null;
  /** The record is gone. */
  forget(id: string): void;
  /** How many were met that were not read again since, up to ten thousand. */
  count(): number;
}

/** How a store over a replica does, as this process has seen it. */
export interface ReplicaCondition {
  /** Records that cannot be read. */
  unreadable(): number;
  /** How old the replica is where it could not look at the server since, in ms. */
  lagMs(): number;
}

export function createUnreadable(kind: string, log: Log): Unreadable {
  const known = new Set<string>();
  let named = 0;

  function note(id: string, cause: unknown): void {
    if (known.has(id) || known.size >= MOST_KNOWN) return;
    known.add(id);
    named++;
    if (named <= MOST_NAMED) log('error', 'unreadable record skipped', { kind, id, cause });
    else if (named === MOST_NAMED + 1)
      log('error', 'more unreadable records, which are only counted', { kind });
  }

  return {
    read(id, work) {
      try {
        const result = work();
        if (known.size > 0) known.delete(id);
        return result;
      } catch (cause) {
        note(id, cause);
        return null;
      }
    },
    forget(id) {
      if (known.size > 0) known.delete(id);
    },
    count: () => known.size,
  };
}
