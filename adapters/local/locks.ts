import type { Locks } from '../../src/lib/locks.ts';

/**
 * `Locks` among the tasks of one process. Holder and lock die together, so `ttlMs` is not needed and `lost` never
 * aborts. Tokens follow the clock, so that they are larger than those before a restart.
 */
export function createLocalLocks(now: () => number = Date.now): Locks {
  const held = new Map<string, number>();
  let lastToken = 0;
  return {
    async acquire(name) {
      if (held.has(name)) return null;
      lastToken = Math.max(lastToken + 1, now() * 1000);
      const token = lastToken;
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
