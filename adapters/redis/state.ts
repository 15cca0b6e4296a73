import type { StateStore } from '../../src/lib/state.ts';
import { type RedisConnection, script } from './connection.ts';

/** A Redis whose memory is full returns the value, but takes none. */
const GET_OR_SET = script(`
local known = redis.call('HGET', KEYS[1], ARGV[1])
if not known then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
return known or ARGV[2]`);

/** The value before is deleted first, so that a Redis whose memory is full takes the few notes that a removal needs. */
const SET = script(`
redis.call('HDEL', KEYS[1], ARGV[1])
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])`);

/** Tokens have up to 16 digits, which a Lua number holds exactly. */
const SET_FENCED = script(`
local fence = ARGV[1] .. '#token'
if tonumber(redis.call('HGET', KEYS[1], fence) or 0) > tonumber(ARGV[3]) then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], fence, ARGV[3])
return 1`);

const REMOVE = script(`
local fence = ARGV[1] .. '#token'
if tonumber(redis.call('HGET', KEYS[1], fence) or 0) <= tonumber(ARGV[2]) then redis.call('HDEL', KEYS[1], ARGV[1], fence) end`);

/** A `StateStore` in one hash. */
export function createRedisState(redis: RedisConnection): StateStore {
  const values = redis.key('state', 'values');
  return {
    get: async (key) => (await redis.call('safe', 'HGET', values, key)) as string | null,
    async set(key, value) {
      await redis.run('safe', SET, [values], [key, value]);
    },
    getOrSet: async (key, value) => (await redis.run('safe', GET_OR_SET, [values], [key, value])) as string,
    setFenced: async (key, value, token) =>
      (await redis.run('safe', SET_FENCED, [values], [key, value, token])) === 1,
    async remove(key, token = Number.MAX_SAFE_INTEGER) {
      await redis.run('safe', REMOVE, [values], [key, token]);
    },
    async keys() {
      const fields = (await redis.call('safe', 'HKEYS', values)) as string[];
      return fields.filter((field) => !field.endsWith('#token'));
    },
  };
}
