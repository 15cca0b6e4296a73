import { AppError, inEnglish } from '../../src/errors.ts';
import { type RedisConnection, script } from './connection.ts';

/**
 * The newest format in which this program writes records. A field at the end of a record is not a new format: see
 * `lib/fields.ts`. An image that is not visible to everyone forever has the second format, which is the first one
 * after its number, so that an older program, which would show it to everyone, skips it.
 */
const VERSION = 2;
/** The oldest program, by its format, that can read what this one writes, except for some records. */
const LEAST_READER = 1;

/** A program: the format of the records that it writes, and the oldest format that can read them. */
interface Writer {
  version: number;
  reader: number;
}

/**
 * KEYS: a hash. ARGV: version, least reader. Returns the newest version written and the oldest one that may read.
 * Both are raised for this program, unless others have written something it cannot read. Otherwise nothing is written, which
 * a Redis whose memory is full would refuse.
 */
const AGREE = script(`
local known = redis.call('HMGET', KEYS[1], 'version', 'reader')
local version, reader = tonumber(known[1] or 0), tonumber(known[2] or 0)
if reader > tonumber(ARGV[1]) or (version >= tonumber(ARGV[1]) and reader >= tonumber(ARGV[2])) then return {version, reader} end
version, reader = math.max(version, ARGV[1]), math.max(reader, ARGV[2])
redis.call('HSET', KEYS[1], 'version', version, 'reader', reader)
return {version, reader}`);

/**
 * Makes sure that this program can read what is stored, and records what it writes.
 * @throws {AppError} `conflict`, with a message for the operator, if a newer program has written something this one
 * cannot read.
 */
export async function agreeOnSchema(
  redis: Pick<RedisConnection, 'run' | 'key'>,
  { version, reader }: Writer = { version: VERSION, reader: LEAST_READER },
): Promise<void> {
  const answer = await redis.run('safe', AGREE, [redis.key('state', 'schema')], [version, reader]);
  const [stored = 0, least = 0] = answer as number[];
  if (least <= version) return;
  throw new AppError(
    'conflict',
    inEnglish(
      `The records in Redis have schema version ${stored}, which programs below version ${least} cannot read; this picpool knows version ${version}. Start the newer picpool that wrote them.`,
    ),
    { lasting: true },
  );
}

/**
 * Returns the array of values of a stored record. The first version is the array itself; later ones begin with their
 * number, of which `known` is also accepted.
 * @throws {TypeError} if it is invalid, or of an unknown version.
 */
export function parseRecord(text: string, known = ''): unknown[] {
  const version = /^\d+(?=\[)/.exec(text)?.[0] ?? '';
  if (version !== '' && version !== known) {
    throw new TypeError(`a record of version ${version} is newer than this program`);
  }
  const values: unknown = JSON.parse(text.slice(version.length));
  if (!Array.isArray(values)) throw new TypeError('a record must be an array');
  return values;
}

/**
 * Lua: `decode(text)` returns the array of a record, or nil if it is invalid, so that one record cannot stop work on
 * all. `known` as for `parseRecord`.
 */
export const decoder = (known = '') => `
local function decode(text)
  if string.sub(text, 1, ${known.length + 1}) == '${known}[' then text = string.sub(text, ${known.length + 1}) end
  if string.sub(text, 1, 1) ~= '[' then return nil end
  local ok, values = pcall(cjson.decode, text)
  if ok and values[1] ~= nil then return values end
end`;
