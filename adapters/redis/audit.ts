import type { AuditStore, StagedEntry } from '../../src/audit/store.ts';
import { type RedisConnection, script } from './connection.ts';
import { pairs } from './log.ts';

/**
 * A Redis whose memory is full accepts an act because its scripts begin by deleting, even if there is nothing to delete.
 * KEYS of every script: records (ID to JSON without stage), times and days (IDs by them), open (IDs by their stage and
 * then backwards by time), subjects (`subject`, a line feed, ID).
 */
const APPEND = script(`
redis.call('HDEL', KEYS[1], '')
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
if tonumber(ARGV[6]) > 0 then redis.call('ZADD', KEYS[4], ARGV[6] * 1e13 - ARGV[3], ARGV[1]) end
redis.call('ZADD', KEYS[5], 0, ARGV[5] .. '\\n' .. ARGV[1])
return 1`);

/** ARGV: id, stage. */
const ADVANCE = script(`
redis.call('HDEL', KEYS[1], '')
if tonumber(ARGV[2]) == 0 then return redis.call('ZREM', KEYS[4], ARGV[1]) end
return redis.call('ZADD', KEYS[4], 'XX', 'LT', ARGV[2] * 1e13 - (redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0), ARGV[1])`);

/** Returns alternating records and stages of a table of IDs. */
const RECORDS = `
local function records(ids)
  local found = {}
  for _, id in ipairs(ids) do
    local text = redis.call('HGET', KEYS[1], id)
    if text then
      found[#found + 1] = text
      found[#found + 1] = tostring(math.ceil((redis.call('ZSCORE', KEYS[4], id) or 0) / 1e13))
    end
  end
  return found
end`;

/** ARGV: limit, the ID after which to begin or nothing. */
const LATEST = script(`${RECORDS}
local from = 0
if ARGV[2] ~= '' then
  local rank = redis.call('ZREVRANK', KEYS[2], ARGV[2])
  if not rank then return {} end
  from = rank + 1
end
return records(redis.call('ZREVRANGE', KEYS[2], from, from + ARGV[1] - 1))`);

/** ARGV: subject. */
const ABOUT = script(`${RECORDS}
local ids = {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[5], '[' .. ARGV[1] .. '\\n', '(' .. ARGV[1] .. '\\n\\255')) do
  ids[#ids + 1] = string.sub(member, #ARGV[1] + 2)
end
return records(ids)`);

/** ARGV: limit. */
const UNFINISHED = script(`${RECORDS}
return records(redis.call('ZREVRANGE', KEYS[4], 0, ARGV[1] - 1))`);

/** ARGV: day, limit. Returns how many were removed, and how many were looked at. */
const DROP = script(`
local ids = redis.call('ZRANGE', KEYS[3], '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', ARGV[3], ARGV[2])
local gone = 0
for _, id in ipairs(ids) do
  if not redis.call('ZSCORE', KEYS[4], id) then
    local text = redis.call('HGET', KEYS[1], id)
    redis.call('HDEL', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
    redis.call('ZREM', KEYS[3], id)
    if text then redis.call('ZREM', KEYS[5], cjson.decode(text).subject .. '\\n' .. id) end
    gone = gone + 1
  end
end
return {gone, #ids}`);

const BATCH = 500;

/** An `AuditStore` in a hash and sorted sets. */
export function createRedisAudit(redis: RedisConnection): AuditStore {
  const keys = ['records', 'times', 'days', 'open', 'subjects'].map((name) => redis.key('audit', name));
  const ask = async (text: ReturnType<typeof script>, ...values: (string | number)[]) => {
    const flat = (await redis.run('safe', text, keys, values)) as string[];
    return pairs(flat).map(([one, stage]): StagedEntry => ({ ...JSON.parse(one), stage: Number(stage) }));
  };
  const byTime = (one: StagedEntry, other: StagedEntry) => one.at - other.at || (one.id < other.id ? -1 : 1);

  return {
    async append(entry, stage) {
      const { id, at, day, subject, text } = entry;
      const record = JSON.stringify({ id, at, day, subject, text });
      await redis.run('safe', APPEND, keys, [id, record, at, day, subject, stage]);
    },
    async advance(id, stage) {
      await redis.run('safe', ADVANCE, keys, [id, stage]);
    },
    async list({ limit, after, subject }) {
      if (subject === undefined) return ask(LATEST, limit, after ?? '');
      return (await ask(ABOUT, subject)).sort((one, other) => byTime(other, one)).slice(0, limit);
    },
    unfinished: (limit) => ask(UNFINISHED, limit),
    async drop(day) {
      let [sum, kept] = [0, 0];
      for (;;) {
        const [gone = 0, seen = 0] = (await redis.run('safe', DROP, keys, [day, BATCH, kept])) as number[];
        sum += gone;
        kept += seen - gone;
        if (seen < BATCH) return sum;
      }
    },
  };
}
