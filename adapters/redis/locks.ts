import { randomUUID } from 'node:crypto';
import type { Lease, Locks } from '../../src/lib/locks.ts';
import { type RedisConnection, script } from './connection.ts';

/**
 * KEYS: the lock, the last token. ARGV: owner, ttl in ms. Answers the token, or 0 when another owner holds the lock.
 * Tokens follow the server's clock in microseconds, so that they also grow when the server has lost its data.
 * An owner that asks again, because the answer was lost, gets a token once more.
 */
const ACQUIRE = script(`
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
local token = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('GET', KEYS[2]) or 0) + 1)
redis.call('SET', KEYS[2], string.format('%.0f', token))
return token`);

/** KEYS: the lock. ARGV: owner, ttl in ms. Answers 1 while the owner holds it. */
const RENEW = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/** KEYS: the lock. ARGV: owner. */
const RELEASE = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`);

/** A lease is given up when this part of its time is left, for clocks and timers are not exact. */
const SAFETY = 0.1;

/** `Locks` as keys that expire, renewed at a third of their time. */
export function createRedisLocks(redis: RedisConnection): Locks {
  return {
    async acquire(name, ttlMs) {
      const lock = redis.key(`lock:${name}`, 'owner');
      const tokens = redis.key(`lock:${name}`, 'token');
      const owner = randomUUID();
      const askedAt = performance.now();
      const token = Number(await redis.run('safe', ACQUIRE, [lock, tokens], [owner, ttlMs]));
      if (token === 0) return null;
      return hold(redis, { lock, owner, token, ttlMs, askedAt });
    },
  };
}

interface Held {
  lock: string;
  owner: string;
  token: number;
  ttlMs: number;
  /** When the request that took the lock was sent: on the server the lease ends no earlier than counted from here. */
  askedAt: number;
}

function hold(redis: RedisConnection, { lock, owner, token, ttlMs, askedAt }: Held): Lease {
  const ending = new AbortController();
  const expire = () => finish(new Error('the lease could not be renewed in time'));
  const untilExpiry = (since: number) => Math.max(0, ttlMs * (1 - SAFETY) - (performance.now() - since));
  let expiry = setTimeout(expire, untilExpiry(askedAt));
  const renewal = setInterval(renew, ttlMs / 3);
  let renewing = false;
  let released = false;

  /** A renewal that fails is tried again at the next turn, until the lease may have expired. */
  async function renew(): Promise<void> {
    if (renewing) return;
    renewing = true;
    const since = performance.now();
    try {
      const mine = await redis.run('safe', RENEW, [lock], [owner, ttlMs]);
      if (mine !== 1) return finish(new Error('the lease has passed to another holder'));
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
      // Where the server is away, the lock ends by itself.
      await redis.run('safe', RELEASE, [lock], [owner]).catch(() => {});
    },
  };
}
