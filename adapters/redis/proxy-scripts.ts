import { SKEW_MS } from '../../src/lib/stored-time.ts';
import { script } from './connection.ts';
import { fenced } from './locks.ts';
import { LOG } from './log.ts';
import { proxyField as field } from './proxy-codec.ts';
import { decoder } from './schema.ts';

/**
 * KEYS of every script here but `IDS`: records (ID to record), ids (endpoint to ID), last ID, log, fences. ARGV begins with a
 * fence (see `fence.ts`), which is not repeated below.
 */

const FENCE = fenced('KEYS[5]');

const DECODE = decoder();

const REMOVE = `${DECODE}
local function remove(id, proxy)
  redis.call('HDEL', KEYS[1], id)
  if not proxy then return end
  local port = string.format('%d', ${field('port')})
  redis.call('HDEL', KEYS[2], ${field('protocol')} .. '|' .. ${field('ip')} .. '|' .. port)
end`;

/**
 * ARGV: endpoint, record and its last check in turn. A record that was checked later stays, but not one that was
 * checked in the future, nor an unreadable one. Returns the IDs. A Redis whose memory is full refuses new proxies, which come first, but
 * takes what is learnt of those it has, because these are deleted first: otherwise dead ones would stay listed as working.
 */
export const SAVE = script(`${LOG}${DECODE}${FENCE}
local ids, time = {}, redis.call('TIME')
local latest = time[1] * 1000 + ${SKEW_MS}
for i = 3, #ARGV, 3 do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then
    redis.call('HSET', KEYS[2], ARGV[i], redis.call('INCR', KEYS[3]))
  end
end
for i = 3, #ARGV, 3 do
  local id = redis.call('HGET', KEYS[2], ARGV[i])
  local known = redis.call('HGET', KEYS[1], id)
  local proxy = known and decode(known)
  local checked = proxy and tonumber(${field('lastChecked')})
  if not checked or checked <= tonumber(ARGV[i + 2]) or checked > latest then
    redis.call('HDEL', KEYS[1], id)
    redis.call('HSET', KEYS[1], id, ARGV[i + 1])
  end
  ids[#ids + 1] = id
end
log(KEYS[4], ids)
return ids`);

/** ARGV: id, time. The next check is the first field. Returns 1, or 0 if the record does not exist. */
export const RESCHEDULE = script(`${LOG}${DECODE}${FENCE}
local proxy = redis.call('HGET', KEYS[1], ARGV[3])
if not proxy or not decode(proxy) then return 0 end
local later = '[' .. ARGV[4] .. string.match(proxy, ',.*')
redis.call('HDEL', KEYS[1], ARGV[3])
redis.call('HSET', KEYS[1], ARGV[3], later)
log(KEYS[4], {ARGV[3]})
return 1`);

/** ARGV: time, ids. Removes those that are dead and were last alive before the time. Returns how many. */
export const REMOVE_DEAD = script(`${LOG}${REMOVE}${FENCE}
local before, removed = tonumber(ARGV[3]), {}
for i = 4, #ARGV do
  local text = redis.call('HGET', KEYS[1], ARGV[i])
  local proxy = text and decode(text)
  local isDead = proxy and ${field('status')} == 'dead'
  if isDead and (tonumber(${field('lastAlive')}) or ${field('firstSeen')}) < before then
    remove(ARGV[i], proxy)
    removed[#removed + 1] = ARGV[i]
  end
end
if #removed > 0 then log(KEYS[4], removed) end
return #removed`);

/** ARGV: how many to keep, ids. Removes them in order while there are more. Returns how many. */
export const EVICT = script(`${LOG}${REMOVE}${FENCE}
local excess, removed = redis.call('HLEN', KEYS[1]) - ARGV[3], {}
for i = 4, #ARGV do
  local text = #removed < excess and redis.call('HGET', KEYS[1], ARGV[i])
  if text then
    remove(ARGV[i], decode(text))
    removed[#removed + 1] = ARGV[i]
  end
end
if #removed > 0 then log(KEYS[4], removed) end
return #removed`);

/** KEYS: records. ARGV: cursor, count. Returns the next cursor, and IDs of a step of `HSCAN`, separated by commas. */
export const IDS = script(`
local step, ids = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2]), {}
for i = 1, #step[2], 2 do ids[#ids + 1] = step[2][i] end
return {step[1], table.concat(ids, ',')}`);
