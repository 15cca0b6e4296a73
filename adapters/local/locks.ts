import type { Locks } from '../../src/lib/locks.ts';

/**
 * `Locks` among the tasks of one process. Holder and lock die together, so `ttlMs` is not needed and `lost` never
 * aborts. `lastToken` returns the largest token that the store of this process has seen: tokens count on from there,
 * whatever a clock says. Default: 0.
 */
export function createLocalLocks(lastToken: () => number = () => 0): Locks {
  const held = new Map<string, number>();
  let last = 0;
  return {
    async acquire(name) {
      if (held.has(name)) return null;
      last = Math.max(last, lastToken()) + 1;
      const token = last;
      held.set(name, token);
      return {
        token,
        lost: new AbortController().signal,
        async release() {
          if (held.get(name) === token) held.delete(name);
        },
      };
    },
  };
}
