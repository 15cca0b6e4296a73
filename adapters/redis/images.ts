import { randomBytes } from 'node:crypto';
import { AppError } from '../../src/errors.ts';
import { FORMATS, type Format, type ImageRecord } from '../../src/image/image.ts';
import type { ImageStore, Page } from '../../src/image/store.ts';
import { createSearchIndex, type SearchIndex } from '../../src/lib/search/search-index.ts';
import type { Arg, RedisConnection, Script } from './connection.ts';
import { createFollower } from './follower.ts';
import { createImageCare } from './image-care.ts';
import { decodeFacts, decodeImage, encodeImage } from './image-codec.ts';
import {
  EXISTING,
  IDLE,
  INSERT,
  OLDEST,
  PAGE,
  READ,
  RECENT,
  REMOVE_IDLE,
  REMOVE_ONE,
} from './image-scripts.ts';
import { type Changes, pairs } from './log.ts';

/** Records or ids in one command: about a millisecond of the server's time. */
const BATCH = 1000;

/**
 * `ImageStore` over Redis. The server answers everything but searches; those are answered by an index in the
 * process, which follows the server's log of changes and is less than a second behind other copies.
 */
export function createRedisImages(redis: RedisConnection): ImageStore {
  const key = (name: string) => redis.key('images', name);
  const keys = { records: key('records'), log: key('log') };
  const idleKey = key('idle');
  const totalsKey = key('totals');
  const all = [keys.records, key('public'), idleKey, totalsKey, keys.log, key('tombstones')];
  const read = (script: Script, ...args: Arg[]) => redis.run('safe', script, all, args);

  const follower = createFollower<SearchIndex>({
    redis,
    keys,
    open: async () => createSearchIndex(),
    scan: oldestFirst,
    apply(index, changes) {
      for (const [id, value] of changes) {
        if (value === null) index.remove(id);
        else {
          const { filename, format, createdAt } = decodeFacts(value);
          index.add({ id, createdAt, fields: [filename, format] });
        }
      }
    },
  });

  /** Public images by creation. An image that is removed meanwhile moves none of the others out of sight. */
  async function* oldestFirst(): AsyncIterable<Changes> {
    let time = '';
    let seenAtTime = new Set<string>();
    for (;;) {
      const batch = pairs((await read(OLDEST, time, 0, BATCH + seenAtTime.size)) as string[]);
      const fresh = batch.filter(([id, value]) => value !== null && !seenAtTime.has(id));
      if (fresh.length > 0) yield fresh;
      const [lastId, lastValue] = fresh.at(-1) ?? [];
      if (lastId === undefined || lastValue === undefined || lastValue === null) return;
      const timeOf = (value: string | null) => String(value && decodeFacts(value).createdAt);
      if (timeOf(lastValue) !== time) seenAtTime = new Set();
      time = timeOf(lastValue);
      for (const [id, value] of fresh.toReversed()) {
        if (timeOf(value) !== time) break;
        seenAtTime.add(id);
      }
    }
  }

  async function search(text: string, offset: number, limit: number): Promise<Page<ImageRecord>> {
    const { view } = await follower.recent();
    const { ids, total } = view.search(text, offset, limit);
    if (ids.length === 0) return { items: [], total };
    return { items: toRecords(await read(READ, ...ids)), total };
  }

  return {
    async insert(image) {
      const { id, createdAt, lastAccess, format, size, passwordHash } = image;
      const record = encodeImage(image, randomBytes(6).toString('base64url'));
      const isPublic = passwordHash === null ? 1 : 0;
      const done = await read(INSERT, id, record, createdAt, lastAccess, format, size, isPublic);
      if (done === 0) throw new AppError('conflict', `There is an image ${id} already.`);
      if (isPublic) await follower.catchUp();
    },

    get: async (id) => toRecords(await read(READ, id))[0] ?? null,

    async list({ text = '', offset, limit }) {
      if (text !== '') return search(text, offset, limit);
      const last = offset + limit - 1;
      // To the server, a last place below the first is an empty page, but one of -1 means the end.
      const page = limit > 0 ? [offset, last] : [1, 0];
      const [total, found] = (await read(PAGE, ...page)) as [number, unknown];
      return { items: toRecords(found), total };
    },

    async touch(accesses) {
      const entries = [...accesses];
      for (let first = 0; first < entries.length; first += BATCH) {
        const scores = entries.slice(first, first + BATCH).flatMap(([id, at]) => [at, id]);
        await redis.call('safe', 'ZADD', idleKey, 'XX', 'GT', ...scores);
      }
    },

    async remove(id) {
      const removed = await redis.run('never', REMOVE_ONE, all, [id]);
      await follower.catchUp();
      return removed === 1;
    },

    async removeIdle(id, before) {
      const removed = await redis.run('never', REMOVE_IDLE, all, [id, before]);
      await follower.catchUp();
      return removed === 1;
    },

    idleSince: async (before, limit) => toRecords(await read(IDLE, before, limit)),

    recent: async ({ offset, limit }) =>
      limit > 0 ? toRecords(await read(RECENT, offset, offset + limit - 1)) : [],

    async existing(ids) {
      const known = new Set<string>();
      for (let first = 0; first < ids.length; first += BATCH) {
        const batch = ids.slice(first, first + BATCH);
        for (const id of (await read(EXISTING, ...batch)) as string[]) known.add(id);
      }
      return known;
    },

    async summary() {
      const totals = new Map(pairs((await redis.call('safe', 'HGETALL', totalsKey)) as string[]));
      const total = (name: string) => Number(totals.get(name) ?? 0);
      const count = (format: Format) => ({ format, count: total(`format:${format}`) });
      return {
        images: total('images'),
        protected: total('protected'),
        bytes: total('bytes'),
        formats: [...FORMATS]
          .sort()
          .map(count)
          .filter(({ count }) => count > 0),
      };
    },

    ...createImageCare(redis, all),
  };
}

/** `[id, record, last access, ...]` as records. */
function toRecords(answer: unknown): ImageRecord[] {
  const flat = answer as string[];
  const records: ImageRecord[] = [];
  for (let index = 0; index < flat.length; index += 3) {
    records.push(decodeImage(flat[index] ?? '', flat[index + 1] ?? '', Number(flat[index + 2])));
  }
  return records;
}
