import { FORMATS, type Format } from '../../src/codec/format.ts';
import { AppError, message } from '../../src/errors.ts';
import { type ImageRecord, visibilityOf } from '../../src/image/image.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { slices } from '../../src/lib/batches.ts';
import type { Log } from '../../src/lib/logger.ts';
import type { ImageReplica } from '../replicas.ts';
import type { Arg, RedisConnection, Script } from './connection.ts';
import { encodeImage } from './image-codec.ts';
import { createImageExpiry, newMark } from './image-expiry.ts';
import { createImageList } from './image-list.ts';
import { createImageReader } from './image-reader.ts';
import { createImageRepair } from './image-repair.ts';
import {
  EXISTING,
  IDLE,
  INSERT,
  NEWER,
  READ,
  RECENT,
  REMOVE_IDLE,
  REMOVE_ONE,
  TOUCH,
} from './image-scripts.ts';
import { fenceArgs, unfenced } from './locks.ts';
import { pairs } from './log.ts';
import { createUnreadable, type ReplicaCondition } from './unreadable.ts';

/** Records or IDs in one command, which take about a millisecond on the server. */
const BATCH = 1000;

/**
 * An `ImageStore` over Redis. The server answers everything but searches. Those are answered by a replica in the
 * process, which follows the server's log of changes and is less than a second behind other copies.
 */
export function createRedisImages(
  redis: RedisConnection,
  openReplica: () => Promise<ImageReplica>,
  log: Log = () => {},
): ImageStore & ReplicaCondition {
  const unreadable = createUnreadable('image', log);
  const key = (name: string) => redis.key('images', name);
  const keys = { records: key('records'), log: key('log') };
  const idleKey = key('idle');
  const totalsKey = key('totals');
  const all = [
    ...[keys.records, key('public'), idleKey, totalsKey, keys.log, key('tombstones'), key('fences')],
    ...[key('ends'), key('views'), key('ended')],
  ];
  const read = (script: Script, ...args: Arg[]) => redis.run('safe', script, all, args);

  const reader = createImageReader(read, unreadable);
  const { toRecords, find, readable } = reader;
  const { catchUp, ...list } = createImageList({ redis, keys, read, reader, unreadable, openReplica });

  return {
    unreadable: unreadable.count,

    async insert(image) {
      const { id, createdAt, lastAccess, expiresAt, viewsLeft } = image;
      const record = encodeImage(image, newMark());
      const done = await read(INSERT, id, record, createdAt, lastAccess, expiresAt ?? '', viewsLeft ?? '');
      if (done === 0) throw new AppError('conflict', message('Image {id} already exists.', { id }));
      if (visibilityOf(image) === 'public') await catchUp();
    },

    get: async (id) => (await find(id))?.image ?? null,

    async getMany(ids) {
      const found = new Map<string, ImageRecord>();
      for (const batch of slices(ids, BATCH)) {
        for (const image of toRecords(await read(READ, ...batch))) found.set(image.id, image);
      }
      return found;
    },

    ...list,

    newer: async ({ id }) => toRecords(await read(NEWER, id))[0] ?? null,

    async touch(accesses) {
      for (const batch of slices([...accesses], BATCH)) {
        await redis.run(
          'safe',
          TOUCH,
          [idleKey],
          batch.flatMap(([id, at]) => [at, id]),
        );
      }
    },

    async remove(id) {
      const removed = await redis.run('never', REMOVE_ONE, all, [id]);
      await catchUp();
      return removed === 1;
    },

    async removeIdle(id, before, fence) {
      const removed = unfenced(await redis.run('never', REMOVE_IDLE, all, [...fenceArgs(fence), id, before]));
      await catchUp();
      return removed === 1;
    },

    async idleSince(before, limit) {
      const records: ImageRecord[] = [];
      for (let offset = 0; records.length < limit; ) {
        const answer = await read(IDLE, before, offset, limit - records.length);
        const [passed, loaded] = answer as [number, unknown];
        if (passed === 0) break;
        records.push(...toRecords(loaded));
        offset += passed;
      }
      return records;
    },

    recent: ({ offset, limit, after }) =>
      readable(limit, (passed, most) => {
        const first = offset + passed;
        return read(RECENT, first, first + most - 1, ...(after ? [after.lastAccess, after.id] : []));
      }),

    async existing(ids) {
      const known = new Set<string>();
      for (const batch of slices(ids, BATCH)) {
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
        protected: total('protected') - total('unlisted'),
        unlisted: total('unlisted'),
        bytes: total('bytes'),
        formats: [...FORMATS]
          .sort()
          .map(count)
          .filter(({ count }) => count > 0),
      };
    },

    ...createImageExpiry({ redis, keys: all, reader, catchUp }),
    ...createImageRepair(redis, all),
  };
}
