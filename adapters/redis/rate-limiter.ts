import type { RateLimiter } from '../../src/lib/rate-limiter.ts';
import { type RedisConnection, script } from './connection.ts';

/**
 * KEYS: the bucket, a hash of tokens and the time they were counted at. ARGV: capacity, tokens per second, cost, and
 * the time in ms, empty for the server's. Answers whether it is allowed and the tokens left. A bucket that would be
 * full again is forgotten. A millionth of a token is forgiven, so that whoever waits as told is let in.
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
local allowed = cost <= tokens + 1e-6
if allowed then tokens = math.max(0, tokens - cost) end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.17g', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) / rate * 1000) + 1)
return {allowed and 1 or 0, string.format('%.17g', tokens)}`);

const ROUNDING = 1e-6;

export interface RedisRateLimiterOptions {
  /** Milliseconds since 1970; the server's clock when not given, which all copies share. */
  now?: () => number;
}

/** `RateLimiter` whose buckets all copies share. */
export function createRedisRateLimiter(
  redis: RedisConnection,
  { now }: RedisRateLimiterOptions = {},
): RateLimiter {
  return {
    async take(key, { capacity, perSecond }, cost = 1) {
      const bucket = redis.key(`limit:${key}`, 'bucket');
      const args = [capacity, perSecond, cost, now ? now() : ''];
      const [verdict, left] = (await redis.run('never', TAKE, [bucket], args)) as [number, string];
      const allowed = verdict === 1;
      const tokens = Number(left);
      return {
        allowed,
        remaining: Math.floor(tokens + ROUNDING),
        retryAfterMs: allowed ? 0 : msUntil(cost - tokens, perSecond),
        resetMs: msUntil(capacity - tokens, perSecond),
      };
    },
  };
}

function msUntil(tokens: number, perSecond: number): number {
  return tokens <= 0 ? 0 : Math.ceil((tokens / perSecond) * 1000);
}
