import type { StateStore } from '../../src/shared/state.ts';
import { type RedisConnection, script } from './connection.ts';

const GET_OR_SET = script(`
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])`);

/** `StateStore` in one hash. */
export function createRedisState(redis: RedisConnection): StateStore {
  const values = redis.key('state', 'values');
  return {
    get: async (key) => (await redis.call('safe', 'HGET', values, key)) as string | null,
    async set(key, value) {
      await redis.call('safe', 'HSET', values, key, value);
    },
    getOrSet: async (key, value) => (await redis.run('safe', GET_OR_SET, [values], [key, value])) as string,
  };
}
