import { randomUUID } from 'node:crypto';
import { holdLease } from '../../src/lib/lease.ts';
import { type Fence, type Locks, outdated } from '../../src/lib/locks.ts';
import { type RedisConnection, script } from './connection.ts';

/**
 * KEYS: the lock, the last token. ARGV: owner, ttl in ms. Returns the token, or 0 if another owner holds the lock. One that ends more than a
 * minute beyond the ttl is not believed: the server's clock was set back, and the holder may be dead. Tokens follow that clock in
 * microseconds, so that they also grow if the server has lost its data. An owner that asks again, because the answer was lost, gets a new token. The lock
 * is deleted first, because a script may go on to write in a Redis whose memory is full only after it has written something that frees
 * memory: the cleanup needs the lock.
 */
const ACQUIRE = script(`
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and redis.call('PTTL', KEYS[1]) <= ARGV[2] + 60000 then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
local token = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('GET', KEYS[2]) or 0) + 1)
redis.call('SET', KEYS[2], string.format('%.0f', token))
return token`);

/** KEYS: the lock. ARGV: owner, ttl in ms. Returns 1 while the owner holds it. */
const RENEW = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/** KEYS: the lock. ARGV: owner. */
const RELEASE = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`);

/** `Locks` as keys that expire, renewed after each third of their time. */
export function createRedisLocks(redis: RedisConnection): Locks {
  return {
    async acquire(name, ttlMs) {
      const lock = redis.key(`lock:${name}`, 'owner');
      const tokens = redis.key(`lock:${name}`, 'token');
      const owner = randomUUID();
      const askedAt = performance.now();
      const token = Number(await redis.run('safe', ACQUIRE, [lock, tokens], [owner, ttlMs]));
      if (token === 0) return null;
      return holdLease({
        token,
        ttlMs,
        askedAt,
        renew: async () => (await redis.run('safe', RENEW, [lock], [owner, ttlMs])) === 1,
        release: () => redis.run('safe', RELEASE, [lock], [owner]),
      });
    },
  };
}

/** Returned by a script that was refused. */
const REFUSED = 'outdated';

/**
 * Lua for scripts of background jobs: ARGV begins with the name and the token of the fence, both empty without one.
 * `key`: the largest tokens by name. The token before is deleted first, for a Redis whose memory is full. Tokens have up to 16 digits, which a Lua number holds exactly.
 */
export const fenced = (key: string) => `
if ARGV[1] ~= '' then
  local seen = tonumber(redis.call('HGET', ${key}, ARGV[1]) or 0)
  if seen > tonumber(ARGV[2]) then return '${REFUSED}' end
  if seen < tonumber(ARGV[2]) then
    redis.call('HDEL', ${key}, ARGV[1])
    redis.call('HSET', ${key}, ARGV[1], ARGV[2])
  end
end`;

/** Returns the first arguments of such a script. */
export function fenceArgs(fence: Fence | undefined): [string, string | number] {
  return fence ? [fence.name, fence.token] : ['', ''];
}

/**
 * Returns the answer of such a script.
 * @throws {AppError} `conflict` if it was refused.
 */
export function unfenced(answer: unknown): unknown {
  if (answer === REFUSED) throw outdated();
  return answer;
}
