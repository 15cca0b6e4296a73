import type { RateLimiter } from '../../src/lib/rate-limiter.ts';
import { openRedis, type RedisConnection } from './connection.ts';
import { createRedisRateLimiter } from './rate-limiter.ts';

/** A limiter over a server that stores nothing else. It connects on first use, and retries while that fails. */
export function createLimiterAlone(url: string): RateLimiter & { close(): Promise<void> } {
  let opened: RateLimiter | null = null;
  let opening: Promise<RedisConnection> | null = null;

  async function open(): Promise<RateLimiter> {
    opening ??= openRedis(url);
    try {
      opened = createRedisRateLimiter(await opening);
      return opened;
    } catch (error) {
      opening = null;
      throw error;
    }
  }

  return {
    take: (key, bucket, cost) =>
      opened ? opened.take(key, bucket, cost) : open().then((limiter) => limiter.take(key, bucket, cost)),
    async close() {
      await opening?.then(
        (connection) => connection.close(),
        () => {},
      );
    },
  };
}
