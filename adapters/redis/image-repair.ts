import { type Finding, fail, warn } from '../../src/findings/finding.ts';
import type { ImageFacts } from '../../src/image/fields.ts';
import { visibilityOf } from '../../src/image/image.ts';
import { END_REMEMBERED_MS, type ImageStore } from '../../src/image/store.ts';
import { slices } from '../../src/lib/batches.ts';
import { type Arg, type RedisConnection, type Script, script } from './connection.ts';
import { DECODE, decodeFacts, imageField as field } from './image-codec.ts';
import { COUNT } from './image-scripts.ts';
import { scan } from './log.ts';

/** Records or IDs in one command, which take about a millisecond on the server. */
const BATCH = 1000;
/** How often the totals are recounted if images are added or removed meanwhile. */
const COUNT_TRIES = 3;

/** KEYS as in `image-scripts.ts`. */

/** Returns the number of records, the number in the indices, and how many of them are not public. */
const COUNTS = script(`
local totals = redis.call('HMGET', KEYS[4], 'images', 'protected')
return {redis.call('HLEN', KEYS[1]), redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[3]),
  totals[1] or '0', totals[2] or '0'}`);

/** ARGV: ids. Adds existing records to the indices in which they are missing, as accessed just now. */
const INDEX = script(`${DECODE}${COUNT}
local now = redis.call('TIME')[1] * 1000
for i = 1, #ARGV do
  local text = redis.call('HGET', KEYS[1], ARGV[i])
  if text then
    local image = decode(text)
    redis.call('ZADD', KEYS[3], 'NX', now, ARGV[i])
    if image and visibility(image) == 'public' then
      redis.call('ZADD', KEYS[2], 'NX', -${field('createdAt')}, ARGV[i])
    end
    local expires = image and ${field('expiresAt')}
    if expires and expires ~= cjson.null then redis.call('ZADD', KEYS[8], 'NX', expires, ARGV[i]) end
  end
end`);

/** ARGV: ids. Removes those without a record from the indices. */
const DISCARD = script(`
for i = 1, #ARGV do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then
    redis.call('ZREM', KEYS[2], ARGV[i])
    redis.call('ZREM', KEYS[3], ARGV[i])
  end
end`);

/** ARGV: number of changes, and the totals as names and values. Returns 0 if there were changes since. */
const SET_TOTALS = script(`
if (redis.call('HGET', KEYS[4], 'changes') or '0') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[4], 'changes', ARGV[1], unpack(ARGV, 2))
return 1`);

/** Finds and repairs inconsistencies of image records over Redis. `keys`: as the scripts need them. */
export function createImageRepair(
  redis: RedisConnection,
  keys: string[],
): Pick<ImageStore, 'looks' | 'buried' | 'dropTombstones' | 'faults' | 'knownFaults' | 'repair'> {
  const [records = '', listed = '', idle = '', totals = '', , tombstones = '', , , , ended = ''] = keys;
  const run = (script: Script, ...args: Arg[]) => redis.run('safe', script, keys, args);

  async function faults(): Promise<Finding[]> {
    const [held = 0, ...others] = ((await run(COUNTS)) as (string | number)[]).map(Number);
    const [publicOnes = 0, accessed = 0, counted = 0, hidden = 0] = others;
    const found: Finding[] = [];
    const expect = (name: string, count: number, right: number) => {
      if (count === right) return;
      // More than there are records: some were lost, and no index can restore them.
      found.push((count < right ? warn : fail)(`The index ${name} covers ${count} of ${right} images.`));
    };
    expect('idle', accessed, held);
    expect('totals', counted, held);
    expect('public', publicOnes, held - hidden);
    return found;
  }

  async function recount(): Promise<boolean> {
    const changes = (await redis.call('safe', 'HGET', totals, 'changes')) as string | null;
    const sums = new Map<string, number>([['images', 0]]);
    const add = (name: string, by: number) => sums.set(name, (sums.get(name) ?? 0) + by);
    const seen = new Set<string>();
    for await (const batch of scan(redis, 'HSCAN', records, BATCH)) {
      for (const [id, text] of batch) {
        if (seen.has(id)) continue;
        seen.add(id);
        add('images', 1);
        const facts = readable(text);
        if (facts) {
          add('bytes', facts.size);
          add(`format:${facts.format}`, 1);
        }
        // For an unreadable image, only the list shows whether it is public.
        const isListed = async () => (await redis.call('safe', 'ZSCORE', listed, id)) !== null;
        const visibility = facts ? visibilityOf(facts) : (await isListed()) ? 'public' : 'protected';
        if (visibility !== 'public') add('protected', 1);
        if (visibility === 'unlisted') add('unlisted', 1);
      }
    }
    return (await run(SET_TOTALS, changes ?? '0', ...[...sums].flat())) === 1;
  }

  return {
    async *looks() {
      // A record may be repeated.
      const seen = new Set<string>();
      for await (const batch of scan(redis, 'HSCAN', records, BATCH)) {
        yield batch.flatMap(([id, text]): [string, string][] => {
          const phash = seen.has(id) ? null : readable(text)?.phash;
          seen.add(id);
          return phash ? [[id, phash]] : [];
        });
      }
    },

    async buried(ids) {
      const found = new Set<string>();
      for (const batch of slices(ids, BATCH)) {
        for (const key of [tombstones, ended]) {
          const times = (await redis.call('safe', 'ZMSCORE', key, ...batch)) as (string | null)[];
          for (const [index, time] of times.entries()) if (time !== null) found.add(batch[index] ?? '');
        }
      }
      return found;
    },

    async dropTombstones(ageMs) {
      const [seconds] = (await redis.call('safe', 'TIME')) as [string, string];
      const before = (ms: number) => Number(seconds) - Math.ceil(ms / 1000);
      await redis.call('safe', 'ZREMRANGEBYSCORE', tombstones, '-inf', before(ageMs));
      await redis.call('safe', 'ZREMRANGEBYSCORE', ended, '-inf', before(END_REMEMBERED_MS));
    },

    faults,
    // Redis stores the sizes of its collections.
    knownFaults: faults,

    async repair() {
      for await (const batch of scan(redis, 'HSCAN', records, BATCH)) {
        await run(INDEX, ...batch.map(([id]) => id));
      }
      for (const index of [listed, idle]) {
        for await (const batch of scan(redis, 'ZSCAN', index, BATCH)) {
          await run(DISCARD, ...batch.map(([id]) => id));
        }
      }
      for (let tries = 0; tries < COUNT_TRIES && !(await recount()); tries++);
    },
  };
}

function readable(text: string): ImageFacts | null {
  try {
    return decodeFacts(text);
  } catch {
    return null;
  }
}
