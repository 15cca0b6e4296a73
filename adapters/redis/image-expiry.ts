import { randomBytes } from 'node:crypto';
import type { ImageChange, ImageRecord } from '../../src/image/image.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { type Arg, type RedisConnection, type Script, script } from './connection.ts';
import { DECODE, encodeImage, imageField as field } from './image-codec.ts';
import type { ImageReader } from './image-reader.ts';
import { COUNT, LOAD, REMOVE } from './image-scripts.ts';
import { LOG } from './log.ts';

/** KEYS as in `image-scripts.ts`. */

/**
 * Lua: the expiry of an image is that of its record or, while its last view is in progress, that of the view if it is
 * earlier.
 */
const SET_END = `
local function setEnd(id, image, isLastOpen)
  local expires = ${field('expiresAt')}
  local known = redis.call('ZSCORE', KEYS[8], id)
  if isLastOpen and known then
    if expires and expires ~= cjson.null then redis.call('ZADD', KEYS[8], 'LT', expires, id) end
  elseif expires and expires ~= cjson.null then redis.call('ZADD', KEYS[8], expires, id)
  else redis.call('ZREM', KEYS[8], id) end
end`;

/**
 * ARGV: id, known record, new record. Returns 0 if the record changed meanwhile, otherwise 1, or 2 if lists change.
 */
const CHANGE = script(`${LOG}${DECODE}${COUNT}${SET_END}
local text = redis.call('HGET', KEYS[1], ARGV[1])
if text == ARGV[3] then return 2 end
if text ~= ARGV[2] then return 0 end
local image = decode(text)
local before = visibility(image)
image = decode(ARGV[3])
local after = visibility(image)
-- Deleted first, so that a picture can be hidden in a Redis whose memory is full.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
countVisible(before, -1)
countVisible(after, 1)
if after ~= 'public' then redis.call('ZREM', KEYS[2], ARGV[1])
elseif before ~= 'public' then redis.call('ZADD', KEYS[2], -${field('createdAt')}, ARGV[1]) end
local views = redis.call('HGET', KEYS[9], ARGV[1]) or ''
setEnd(ARGV[1], image, string.sub(views, 1, 2) == '0|')
if before ~= 'public' and after ~= 'public' then return 1 end
log(KEYS[5], {ARGV[1]})
return 2`);

/**
 * ARGV: id, token, time. Returns 1 if a view was taken. `views` holds the remaining views, a bar, and the tokens in
 * progress.
 */
const TAKE = script(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
local value = redis.call('HGET', KEYS[9], ARGV[1])
if not value then return 0 end
local left, open = string.match(value, '^(%d+)|?(.*)$')
if string.find(open, ARGV[2] .. ',', 1, true) then return 1 end
left = tonumber(left) - 1
if left < 0 then return 0 end
-- Deleted first, so that a Redis whose memory is full takes it.
redis.call('HDEL', KEYS[9], ARGV[1])
redis.call('HSET', KEYS[9], ARGV[1], left .. '|' .. open .. ARGV[2] .. ',')
if left == 0 then redis.call('ZADD', KEYS[8], 'LT', ARGV[3], ARGV[1]) end
return 1`);

/** Lua: removes an expired or used-up image, and remembers it. */
const END = `
local function endNow(id)
  redis.call('ZADD', KEYS[10], redis.call('TIME')[1], id)
  return remove(id)
end`;

/** ARGV: id, token, 1 if it was seen. Returns 1 if that was the last one, and the image was removed. */
const END_VIEW = script(`${LOG}${REMOVE}${SET_END}${END}
local value = redis.call('HGET', KEYS[9], ARGV[1]) or '0|'
local left, open = string.match(value, '^(%d+)|?(.*)$')
local from, to = string.find(open, ARGV[2] .. ',', 1, true)
-- Ended already: the answer has been lost, and the caller asks again.
if not from then return redis.call('ZSCORE', KEYS[10], ARGV[1]) and 1 or 0 end
open = string.sub(open, 1, from - 1) .. string.sub(open, to + 1)
if ARGV[3] == '1' then
  if left == '0' and open == '' then return endNow(ARGV[1]) end
else
  left = tonumber(left) + 1
  local image = decode(redis.call('HGET', KEYS[1], ARGV[1]))
  if image then setEnd(ARGV[1], image, false) end
end
redis.call('HDEL', KEYS[9], ARGV[1])
redis.call('HSET', KEYS[9], ARGV[1], left .. '|' .. open)
return 0`);

/** Lua: the time in ms, limited to the server's own. A clock that is ahead must not expire anything early. */
const TIME = `
local function atMost(time)
  local now = redis.call('TIME')
  return math.min(tonumber(time), now[1] * 1000 + math.floor(now[2] / 1000))
end`;

/**
 * ARGV: time, number to skip, limit. Returns the number examined, and the records. Forgets entries without a record.
 */
const ENDED_BY = script(`${LOAD}${TIME}
local ids = redis.call('ZRANGE', KEYS[8], '-inf', atMost(ARGV[1]), 'BYSCORE', 'LIMIT', ARGV[2], ARGV[3])
local passed = 0
for _, id in ipairs(ids) do
  if redis.call('HEXISTS', KEYS[1], id) == 1 then passed = passed + 1
  else
    redis.call('ZREM', KEYS[8], id)
    redis.call('HDEL', KEYS[9], id)
  end
end
return {passed, #ids - passed, load(ids)}`);

/** ARGV: id, time. Returns 1 if the image had ended, and was removed. */
const REMOVE_ENDED = script(`${LOG}${REMOVE}${END}${TIME}
local ends = redis.call('ZSCORE', KEYS[8], ARGV[1])
if not ends or tonumber(ends) > atMost(ARGV[2]) then return 0 end
return endNow(ARGV[1])`);

type Expiry = Pick<ImageStore, 'change' | 'takeView' | 'endView' | 'endedBy' | 'removeEnded' | 'hasEnded'>;

interface ImageExpiryOptions {
  redis: RedisConnection;
  /** As the scripts need them. */
  keys: string[];
  reader: Pick<ImageReader, 'find' | 'toRecords'>;
  /** Must be awaited after lists have changed. */
  catchUp(): Promise<void>;
}

/** Changes of images over Redis, their views and their expiry. */
export function createImageExpiry({ redis, keys, reader, catchUp }: ImageExpiryOptions): Expiry {
  const ended = keys[9] ?? '';
  const run = (script: Script, ...args: Arg[]) => redis.run('safe', script, keys, args);

  return {
    async change(id, change: ImageChange) {
      for (;;) {
        const found = await reader.find(id);
        if (!found) return null;
        const image = { ...found.image, ...change };
        const done = await run(CHANGE, id, found.text, encodeImage(image, newMark()));
        if (done === 0) continue;
        if (done === 2) await catchUp();
        return image;
      }
    },

    takeView: async (id, token, until) => (await run(TAKE, id, token, until)) === 1,

    async endView(id, token, seen) {
      const last = (await run(END_VIEW, id, token, seen ? 1 : 0)) === 1;
      if (last) await catchUp();
      return last;
    },

    async endedBy(time, limit) {
      const records: ImageRecord[] = [];
      for (let offset = 0; records.length < limit; ) {
        const most = limit - records.length;
        const answer = await run(ENDED_BY, time, offset, most);
        const [passed, forgotten, loaded] = answer as [number, number, unknown];
        records.push(...reader.toRecords(loaded));
        offset += passed;
        if (passed + forgotten < most) break;
      }
      return records;
    },

    async removeEnded(id, time) {
      const removed = (await redis.run('never', REMOVE_ENDED, keys, [id, time])) === 1;
      await catchUp();
      return removed;
    },

    async hasEnded(id) {
      const at = (await redis.call('safe', 'ZSCORE', ended, id)) as string | null;
      return at !== null;
    },
  };
}

/** Returns a mark that distinguishes a repetition of the same request from another one that writes the same. */
export function newMark(): string {
  return randomBytes(6).toString('base64url');
}
