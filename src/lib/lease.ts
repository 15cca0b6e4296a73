import type { Lease } from './locks.ts';

/** A lease is given up when this part of its time is left, for clocks and timers are not exact. */
const SAFETY = 0.1;

/** A lock on a server that this process has just taken. */
export interface Held {
  token: number;
  ttlMs: number;
  /** When the request that took the lock was sent: on the server the lease ends no earlier than counted from here. */
  askedAt: number;
  /** Makes the lock last for `ttlMs` from now on; false if it has passed to another holder. */
  renew(): Promise<boolean>;
  /** Gives the lock back, if it is still held. */
  release(): Promise<unknown>;
}

/** The lease of a lock on a server, renewed at a third of its time. */
export function holdLease({ token, ttlMs, askedAt, renew, release }: Held): Lease {
  const ending = new AbortController();
  const expire = () => finish(new Error('the lease could not be renewed in time'));
  const untilExpiry = (since: number) => Math.max(0, ttlMs * (1 - SAFETY) - (performance.now() - since));
  let expiry = setTimeout(expire, untilExpiry(askedAt));
  const renewal = setInterval(renewNow, ttlMs / 3);
  let renewing = false;
  let released = false;

  /** A renewal that fails is tried again at the next turn, until the lease may have expired. */
  async function renewNow(): Promise<void> {
    if (renewing) return;
    renewing = true;
    const since = performance.now();
    try {
      if (!(await renew())) return finish(new Error('the lease has passed to another holder'));
      clearTimeout(expiry);
      if (!released && !ending.signal.aborted) expiry = setTimeout(expire, untilExpiry(since));
    } catch {
    } finally {
      renewing = false;
    }
  }

  function finish(reason: Error): void {
    clearInterval(renewal);
    clearTimeout(expiry);
    if (!released) ending.abort(reason);
  }

  return {
    token,
    lost: ending.signal,
    async release() {
      if (released || ending.signal.aborted) return;
      released = true;
      clearInterval(renewal);
      clearTimeout(expiry);
      // Where the server is away, the lock ends on its own.
      await release().catch(() => {});
    },
  };
}
