import { once } from '../../src/lib/once.ts';
import type { Bucket, RateLimiter } from '../../src/lib/rate-limiter.ts';
import { createSlicingLimiter } from '../../src/lib/token-slices.ts';
import { openRedis, type RedisConnection, script } from './connection.ts';
import { parseRedisUrl } from './url.ts';

/**
 * KEYS: the bucket, a hash of tokens and the time of their count. ARGV: capacity, tokens per second, cost, the time
 * in ms (empty for the server's), and how many extra tokens to take. Returns whether it is allowed, the tokens left,
 * and the extra tokens taken. A full bucket is forgotten. It tolerates a millionth of a token, so that a client that
 * waits as told is admitted.
 */
const TAKE = script(`
local capacity, rate, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local gained = math.max(0, now - (tonumber(bucket[2]) or now)) / 1000 * rate
local tokens = math.min(capacity, (tonumber(bucket[1]) or capacity) + gained)
local allowed, extra = cost <= tokens + 1e-6, 0
if allowed then
  tokens = math.min(capacity, math.max(0, tokens - cost))
  extra = math.min(tonumber(ARGV[5]), math.floor(tokens / 4))
  tokens = tokens - extra
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.17g', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) / rate * 1000) + 1)
return {allowed and 1 or 0, string.format('%.17g', tokens), string.format('%.17g', extra)}`);

/**
 * A `RateLimiter` whose buckets all copies share; see `createSlicingLimiter`. `now` in ms since 1970. Default: the server's clock, which
 * all copies share.
 */
export function createRedisRateLimiter(redis: RedisConnection, now?: () => number): RateLimiter {
  const buckets = {
    async take(key: string, { capacity, perSecond }: Bucket, cost: number, extra: number) {
      const bucket = redis.key(`limit:${key}`, 'bucket');
      const args = [capacity, perSecond, cost, now ? now() : '', extra];
      const [allowed, tokens, more] = (await redis.run('never', TAKE, [bucket], args)) as [
        number,
        string,
        string,
      ];
      return { allowed: allowed === 1, tokens: Number(tokens), extra: Number(more) };
    },
  };
  return createSlicingLimiter(buckets, now ?? (() => performance.now()));
}

/**
 * A limiter over a server that stores nothing else. It connects on first use, and retries while that fails.
 * @throws {RangeError} if the URL is invalid.
 */
export function createLimiterAlone(url: string): RateLimiter & { close(): Promise<void> } {
  parseRedisUrl(url);
  let opening: Promise<RedisConnection> | undefined;
  const limiter = once(async () => {
    opening = openRedis(url);
    return createRedisRateLimiter(await opening);
  });

  return {
    take: async (key, bucket, cost) => (await limiter()).take(key, bucket, cost),
    close: async () => (await opening?.catch(() => null))?.close(),
  };
}
