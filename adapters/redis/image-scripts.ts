import { script } from './connection.ts';
import { DECODE, imageField as field } from './image-codec.ts';
import { fenced } from './locks.ts';
import { LOG } from './log.ts';

/**
 * KEYS of every image script: records (ID to record), public (IDs, newest first), idle (IDs by last access), totals,
 * log, tombstones (IDs of removed images, by time), fences, ends (IDs of images with an expiry, by time), views (ID
 * to the remaining views, and tokens of those in progress), ended (IDs of expired and used-up images, by time). Only
 * images that are or were public are logged.
 */

/**
 * Lua: `visibility(image)`, and the totals. Of these, `protected` counts all images that are not public, as in the
 * first version.
 */
export const COUNT = `
local function visibility(image)
  if ${field('passwordHash')} ~= cjson.null then return 'protected' end
  return ${field('unlisted')} == 1 and 'unlisted' or 'public'
end
local function countVisible(visible, by)
  redis.call('HINCRBY', KEYS[4], 'changes', 1)
  if visible ~= 'public' then redis.call('HINCRBY', KEYS[4], 'protected', by) end
  if visible == 'unlisted' then redis.call('HINCRBY', KEYS[4], 'unlisted', by) end
end
local function count(image, by)
  redis.call('HINCRBY', KEYS[4], 'images', by)
  redis.call('HINCRBY', KEYS[4], 'bytes', by * ${field('size')})
  redis.call('HINCRBY', KEYS[4], 'format:' .. ${field('format')}, by)
  countVisible(visibility(image), by)
end
local function discount(isPublic)
  redis.call('HINCRBY', KEYS[4], 'changes', 1)
  redis.call('HINCRBY', KEYS[4], 'images', -1)
  if not isPublic then redis.call('HINCRBY', KEYS[4], 'protected', -1) end
end`;

/** Lua: `remove(id)` returns 1, or 0 if there is no such image. */
export const REMOVE = `${DECODE}${COUNT}
local function remove(id)
  local text = redis.call('HGET', KEYS[1], id)
  if not text then return 0 end
  local image = decode(text)
  redis.call('HDEL', KEYS[1], id)
  -- Of a record that cannot be read only the list knows whether it is public; its bytes stay counted until all are counted again.
  local isPublic = redis.call('ZREM', KEYS[2], id) == 1
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[8], id)
  redis.call('HDEL', KEYS[9], id)
  if image then isPublic = visibility(image) == 'public' end
  if image then count(image, -1) else discount(isPublic) end
  redis.call('ZADD', KEYS[6], redis.call('TIME')[1], id)
  if isPublic then log(KEYS[5], {id}) end
  return 1
end`;

/** Lua: `load(ids)` returns the flat list of id, record, last access and views of those that exist. */
export const LOAD = `
local function load(ids)
  local found = {}
  for first = 1, #ids, 1000 do
    local last = math.min(first + 999, #ids)
    local records = redis.call('HMGET', KEYS[1], unpack(ids, first, last))
    local accesses = redis.call('ZMSCORE', KEYS[3], unpack(ids, first, last))
    local views = redis.call('HMGET', KEYS[9], unpack(ids, first, last))
    for i = 1, #records do
      if records[i] then
        found[#found + 1] = ids[first + i - 1]
        found[#found + 1] = records[i]
        found[#found + 1] = accesses[i] or '0'
        found[#found + 1] = views[i] or '0'
      end
    end
  end
  return found
end`;

/** ARGV: id, record, created at, last access, expires at or nothing, views left or nothing. Returns 0 if the id is taken. */
export const INSERT = script(`${LOG}${DECODE}${COUNT}
local taken = redis.call('HGET', KEYS[1], ARGV[1])
if taken then return taken == ARGV[2] and 1 or 0 end
local image = decode(ARGV[2])
local isPublic = visibility(image) == 'public'
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('ZREM', KEYS[10], ARGV[1])
if ARGV[5] ~= '' then redis.call('ZADD', KEYS[8], ARGV[5], ARGV[1]) end
if ARGV[6] ~= '' then redis.call('HSET', KEYS[9], ARGV[1], ARGV[6]) end
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
if isPublic then redis.call('ZADD', KEYS[2], -ARGV[3], ARGV[1]) end
count(image, 1)
if isPublic then log(KEYS[5], {ARGV[1]}) end
return 1`);

/** ARGV: ids. */
export const READ = script(`${LOAD}
return load(ARGV)`);

/** ARGV: ids. Returns those that have a record, regardless of the indices. */
export const EXISTING = script(`
local found = {}
for i = 1, #ARGV do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then found[#found + 1] = ARGV[i] end
end
return found`);

/** ARGV: id. Returns the record before it in the list of public images. */
export const NEWER = script(`${LOAD}
local rank = redis.call('ZRANK', KEYS[2], ARGV[1])
if not rank or rank == 0 then return {} end
return load(redis.call('ZRANGE', KEYS[2], rank - 1, rank - 1))`);

/**
 * ARGV: time, number to skip, limit. Returns the number examined, which may be less than there are, and the records
 * of those without an expiry.
 */
export const IDLE = script(`${LOAD}
local ids = redis.call('ZRANGE', KEYS[3], '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', ARGV[2], 1000)
if #ids == 0 then return {0, {}} end
local ends = redis.call('ZMSCORE', KEYS[8], unpack(ids))
local idle, passed = {}, 0
while passed < #ids and #idle < tonumber(ARGV[3]) do
  passed = passed + 1
  if not ends[passed] then idle[#idle + 1] = ids[passed] end
end
return {passed, load(idle)}`);

/** Lua: `isBehind(one, other)` compares bytes, because strings compare by the server's locale. */
const IS_BEHIND = `
local function isBehind(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = one:byte(i), other:byte(i)
    if a ~= b then return a > b end
  end
  return #one > #other
end`;

/** ARGV: first and last position, last accessed first; then, to start after a position, its time and ID. */
export const RECENT = script(`${LOAD}${IS_BEHIND}
local rank = 0
if ARGV[3] then
  rank = redis.call('ZCOUNT', KEYS[3], '(' .. ARGV[3], '+inf')
  for _, id in ipairs(redis.call('ZRANGE', KEYS[3], ARGV[3], ARGV[3], 'BYSCORE')) do
    if not isBehind(ARGV[4], id) then rank = rank + 1 end
  end
end
return load(redis.call('ZRANGE', KEYS[3], rank + ARGV[1], rank + ARGV[2], 'REV'))`);

/**
 * ARGV: number to skip, limit; then, to start after a position, its creation time and ID. Returns the number of all
 * public images and the records, newest first.
 */
export const PAGE = script(`${LOAD}${IS_BEHIND}
local first = tonumber(ARGV[1])
if ARGV[3] then
  first = first + redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. -ARGV[3])
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], -ARGV[3], -ARGV[3], 'BYSCORE')) do
    if not isBehind(id, ARGV[4]) then first = first + 1 end
  end
end
return {redis.call('ZCARD', KEYS[2]), load(redis.call('ZRANGE', KEYS[2], first, first + ARGV[2] - 1))}`);

/**
 * KEYS: idle. ARGV: time and ID of each access. An entry is removed first, so that a Redis whose memory is full takes it:
 * otherwise another copy would take what is viewed meanwhile for idle.
 */
export const TOUCH = script(`
for place = 1, #ARGV, 2 do
  local known = redis.call('ZSCORE', KEYS[1], ARGV[place + 1])
  if known and tonumber(known) < tonumber(ARGV[place]) then
    redis.call('ZREM', KEYS[1], ARGV[place + 1])
    redis.call('ZADD', KEYS[1], ARGV[place], ARGV[place + 1])
  end
end`);

/** ARGV: id. Returns 1, or 0 if there is no such image. */
export const REMOVE_ONE = script(`${LOG}${REMOVE}
return remove(ARGV[1])`);

/**
 * ARGV: fence, id, time. Removes the image if its last access was before the time and it has no expiry. Returns 1 if
 * it did.
 */
export const REMOVE_IDLE = script(`${LOG}${REMOVE}${fenced('KEYS[7]')}
if redis.call('ZSCORE', KEYS[8], ARGV[3]) then return 0 end
local access = redis.call('ZSCORE', KEYS[3], ARGV[3])
if not access or tonumber(access) >= tonumber(ARGV[4]) then return 0 end
return remove(ARGV[3])`);
