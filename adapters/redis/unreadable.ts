import type { Log } from '../../src/lib/logger.ts';

/** Number of records named in the log. Then it reports once that there are more. */
const MOST_NAMED = 20;
/** Number of records remembered, and so the maximum count. */
const MOST_KNOWN = 10_000;

/** The condition of a store with a replica, as this process has seen it. */
export interface ReplicaCondition {
  unreadable(): number;
  /** Returns how outdated the replica is if it could not read from the server, in ms. */
  lagMs(): number;
}

export function createUnreadable(kind: string, log: Log) {
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
    /** Returns the result of the work. If it throws, records the record as unreadable and returns `null`. */
    read<T>(id: string, work: () => T): T | null {
      try {
        const result = work();
        if (known.size > 0) known.delete(id);
        return result;
      } catch (cause) {
        note(id, cause);
        return null;
      }
    },
    /** Called when the record was removed. */
    forget(id: string): void {
      if (known.size > 0) known.delete(id);
    },
    /** Returns the number found and not read successfully since, up to ten thousand. */
    count: () => known.size,
  };
}

/**
 * Records that cannot be read: damaged, or of an unknown version. They are skipped, so that one of them stops nothing
 * else.
 */
export type Unreadable = ReturnType<typeof createUnreadable>;
