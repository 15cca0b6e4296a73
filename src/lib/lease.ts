import type { Lease } from './locks.ts';

/** A lease is given up when this share of its time is left, because clocks and timers are not exact. */
const SAFETY = 0.1;

/** A server's lock that this process has just taken. */
interface Held {
  token: number;
  ttlMs: number;
  /** When the request for the lock was sent: the lease on the server ends no earlier than counted from here. */
  askedAt: number;
  /** Extends the lock to `ttlMs` from now. Returns false if another holder has it. */
  renew(): Promise<boolean>;
  /** Releases the lock if it is still held. */
  release(): Promise<unknown>;
}

/** Creates the lease of a server's lock, which is renewed after each third of its time. */
export function holdLease({ token, ttlMs, askedAt, renew, release }: Held): Lease {
  const ending = new AbortController();
  const expire = () => finish(new Error('the lease could not be renewed in time'));
  const untilExpiry = (since: number) => Math.max(0, ttlMs * (1 - SAFETY) - (performance.now() - since));
  let expiry = setTimeout(expire, untilExpiry(askedAt));
  const renewal = setInterval(renewNow, ttlMs / 3);
  let renewing = false;
  let released = false;

  /** A failed renewal is retried at the next turn, until the lease may have expired. */
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
      // If the server is unavailable, the lock expires on its own.
      await release().catch(() => {});
    },
  };
}
