import { AppError, message } from '../../src/errors.ts';
import { ALBUM_FIELDS, type AlbumRecord, type AlbumStore } from '../../src/image/albums/album.ts';
import { accepts, namesOf, reader } from '../../src/lib/fields.ts';
import type { Log } from '../../src/lib/logger.ts';
import { type RedisConnection, script } from './connection.ts';
import { type Change, pairs, scan } from './log.ts';
import { parseRecord } from './schema.ts';
import { createUnreadable } from './unreadable.ts';

/**
 * KEYS of every album script: records (ID to record, which begins with its revision), due (IDs by when they are due).
 */
const REVISION = `
local function revision(id)
  local text = redis.call('HGET', KEYS[1], id)
  return text and tonumber(string.match(text, '^%[(%d+)'))
end`;

/** ARGV: id, record, due at. Returns 0 if the id is taken. */
const INSERT = script(`
local taken = redis.call('HGET', KEYS[1], ARGV[1])
if taken then return taken == ARGV[2] and 1 or 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
return 1`);

/** ARGV: id, record, due at, the revision that it replaces. Returns 0 if the stored revision is another. */
const REPLACE = script(`${REVISION}
if revision(ARGV[1]) ~= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
return 1`);

/** ARGV: id, revision or nothing. Returns 0 if there is none. */
const REMOVE = script(`${REVISION}
if ARGV[2] ~= '' and revision(ARGV[1]) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])`);

/** ARGV: time, number to skip, limit. Returns alternating IDs and records. */
const DUE = script(`
local found = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', ARGV[2], ARGV[3])) do
  found[#found + 1] = id
  found[#found + 1] = redis.call('HGET', KEYS[1], id) or ''
end
return found`);

const FIELDS = namesOf(ALBUM_FIELDS);
const read = reader(ALBUM_FIELDS);
const BATCH = 200;

/** An `AlbumStore` in a hash and a sorted set. Queries for many records skip unreadable ones. */
export function createRedisAlbums(redis: RedisConnection, log: Log = () => {}): AlbumStore {
  const unreadable = createUnreadable('album', log);
  const keys = [redis.key('albums', 'records'), redis.key('albums', 'due')];
  const [records = ''] = keys;
  const encode = (album: AlbumRecord) => JSON.stringify(FIELDS.map((field) => album[field]));
  const decode = (id: string, text: string) => unreadable.read(id, () => ({ id, ...decodeFacts(text) }));
  const readable = (found: readonly Change[]) => found.flatMap(([id, text]) => decode(id, text ?? '') ?? []);

  return {
    async insert(album) {
      const done = await redis.run('safe', INSERT, keys, [album.id, encode(album), album.dueAt]);
      if (done === 0) throw new AppError('conflict', message('Album {id} already exists.', { id: album.id }));
    },

    async get(id) {
      const text = (await redis.call('safe', 'HGET', records, id)) as string | null;
      const album = text === null ? null : decode(id, text);
      if (text === null || album) return album;
      throw new AppError('unavailable', 'The record of this album cannot be read.');
    },

    async replace(album) {
      const args = [album.id, encode(album), album.dueAt, album.revision - 1];
      return (await redis.run('safe', REPLACE, keys, args)) !== 0;
    },

    remove: async (id, revision) => (await redis.run('safe', REMOVE, keys, [id, revision ?? ''])) === 1,

    async dueBy(time, limit) {
      const albums: AlbumRecord[] = [];
      for (let offset = 0; ; offset += limit) {
        const found = pairs((await redis.run('safe', DUE, keys, [time, offset, limit])) as string[]);
        albums.push(...readable(found));
        if (albums.length >= limit || found.length < limit) return albums.slice(0, limit);
      }
    },

    async *all() {
      for await (const found of scan(redis, 'HSCAN', records, BATCH)) yield readable(found);
    },
  };
}

/** @throws {TypeError} if this program cannot read it. */
function decodeFacts(text: string): Omit<AlbumRecord, 'id'> {
  const facts = read(parseRecord(text));
  const wrong = FIELDS.find((field) => !accepts(ALBUM_FIELDS[field], facts[field]));
  if (wrong) throw new TypeError(`${wrong} of an album cannot be ${facts[wrong]}`);
  return facts;
}
