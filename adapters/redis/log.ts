import { slices } from '../../src/lib/batches.ts';
import type { ChangeLog } from '../../src/lib/follower.ts';
import { type RedisConnection, script } from './connection.ts';

/**
 * How long entries are kept in a log of changes: a stream whose entries name the records that a write touched. Each
 * copy keeps a view of the records, and reads the log to keep it up to date. Older entries are dropped, but never the
 * last one before a write, so a view that was up to date always finds its position again.
 */
const KEPT_SECONDS = 600;

/** Lua function for the scripts that write: `log(key, ids)`. */
export const LOG = `
local function log(key, ids)
  local oldest = (redis.call('TIME')[1] - ${KEPT_SECONDS}) * 1000
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if last then oldest = math.min(oldest, tonumber(string.match(last[1], '^%d+'))) end
  redis.call('XADD', key, 'MINID', '~', string.format('%.0f', oldest), '*', 'ids', table.concat(ids, ','))
end`;

/** KEYS: log. Returns the position of its last entry. An empty log gets a first one. */
const END = script(`
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last then return last[1] end
return redis.call('XADD', KEYS[1], '*', 'ids', '')`);

/**
 * KEYS: log, records (a hash). ARGV: position, limit. Returns the next position, whether there is more, and IDs and
 * current values of the records that were touched in between; nil if the log no longer contains the position.
 */
const CHANGES = script(`
local entries = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])
if not entries[1] or entries[1][1] ~= ARGV[1] then return false end
local seen, ids, found = {}, {}, {}
for i = 2, #entries do
  for id in string.gmatch(entries[i][2][2], '[^,]+') do
    if not seen[id] then
      seen[id] = true
      ids[#ids + 1] = id
    end
  end
end
for first = 1, #ids, 1000 do
  local values = redis.call('HMGET', KEYS[2], unpack(ids, first, math.min(first + 999, #ids)))
  for i = 1, #values do
    found[#found + 1] = ids[first + i - 1]
    found[#found + 1] = values[i]
  end
end
return {entries[#entries][1], #entries == tonumber(ARGV[2]) and 1 or 0, found}`);

const MAX_ENTRIES = 200;

/** A record by ID as it is stored; `null` if it was removed. */
export type Change = [id: string, value: string | null];

/** Returns the log of the records under the keys. */
export function createChangeLog(
  redis: RedisConnection,
  keys: { log: string; records: string },
): ChangeLog<Change> {
  return {
    end: async () => (await redis.run('safe', END, [keys.log], [])) as string,
    async since(place) {
      const answer = await redis.run('safe', CHANGES, [keys.log, keys.records], [place, MAX_ENTRIES]);
      if (answer === null) return null;
      const [next, more, found] = answer as [string, number, (string | null)[]];
      return { place: next, more: more === 1, changes: pairs(found) };
    },
  };
}

/** Splits `[id, value, id, value]` into pairs. */
export const pairs = (flat: readonly (string | null)[]) => [...slices(flat, 2)] as Change[];

/**
 * Yields the members of a hash or sorted set with their values, in batches that are not empty. Members that are there
 * throughout appear at least once.
 */
export async function* scan(
  redis: RedisConnection,
  command: 'HSCAN' | 'ZSCAN',
  key: string,
  batch: number,
): AsyncGenerator<[string, string][]> {
  let cursor = '0';
  do {
    const answer = await redis.call('safe', command, key, cursor, 'COUNT', batch);
    const [next, found] = answer as [string, string[]];
    if (found.length > 0) yield pairs(found).map(([name, value]) => [name, value ?? '']);
    cursor = next;
  } while (cursor !== '0');
}
