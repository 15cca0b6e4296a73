import type { Locks } from '../../src/lib/locks.ts';
import type { StateStore } from '../../src/lib/state.ts';

/** Looks that nobody writes in the name of a lock who has not got it. */
export interface LeaseWatch {
  locks(inner: Locks): Locks;
  state(inner: StateStore): StateStore;
}

export function createLeaseWatch(breaks: (promise: string) => void): LeaseWatch {
  const granted = new Set<number>();
  return {
    locks: (inner) => ({
      async acquire(name, ttlMs) {
        const lease = await inner.acquire(name, ttlMs);
        if (lease) granted.add(lease.token);
        return lease;
      },
    }),
    state: (inner) => ({
      ...inner,
      async setFenced(key, value, token) {
        if (!granted.has(token)) breaks(`${key} is written in the name of a lock that nobody holds`);
        return inner.setFenced(key, value, token);
      },
    }),
  };
}
