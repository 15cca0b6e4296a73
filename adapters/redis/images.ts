import { AppError } from '../../src/errors.ts';
import { FORMATS, type Format, type ImageRecord, visibilityOf } from '../../src/image/image.ts';
import type { ImageStore, Page, PageQuery, Place } from '../../src/image/store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createFollower } from '../../src/lib/follower.ts';
import type { Log } from '../../src/lib/logger.ts';
import type { Arg, RedisConnection, Script } from './connection.ts';
import { unavailable } from './errors.ts';
import { fenceArgs, unfenced } from './fence.ts';
import { createImageCare } from './image-care.ts';
import { decodeImage, encodeImage } from './image-codec.ts';
import { createImageEnds, newMark } from './image-ends.ts';
import {
  AFTER,
  EXISTING,
  IDLE,
  INSERT,
  NEWER,
  PAGE,
  READ,
  RECENT,
  REMOVE_IDLE,
  REMOVE_ONE,
} from './image-scripts.ts';
import { type Change, createChangeLog, pairs } from './log.ts';
import { createUnreadable, type ReplicaCondition } from './unreadable.ts';

/** Records or ids in one command: about a millisecond of the server's time. */
const BATCH = 1000;

/** Pause after the server could not be read, in ms. */
const RETRY_MS = 1000;

/** The public images within the process, where searches are answered. */
export interface ImageReplica extends Pick<ImageStore, 'list' | 'prepare' | 'preparing'> {
  /** Takes over images and removals, all at once. */
  apply(images: readonly ImageRecord[], removed: readonly string[]): void;
}

/**
 * `ImageStore` over Redis. The server answers everything but searches; those are answered by a replica in the process,
 * which follows the server's log of changes and is less than a second behind other copies.
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

  const stopping = new AbortController();
  const replicas = redis.replicas(keys.records);

  const follower = createFollower<ImageReplica, Change>({
    log: createChangeLog(redis, keys),
    late: unavailable,
    open: openReplica,
    scan: newestFirst,
    async complete(replica) {
      // Until then, and where the disk is full, searches read what is not in the index yet.
      replica.prepare(stopping.signal).catch(() => {});
    },
    apply(replica, changes) {
      const found: ImageRecord[] = [];
      const removed: string[] = [];
      for (const [id, value] of changes) {
        const image = value === null ? null : unreadable.read(id, () => decodeImage(id, value, 0, 0));
        if (image && visibilityOf(image) === 'public') found.push(image);
        else removed.push(id);
        if (value === null) unreadable.forget(id);
      }
      replica.apply(found, removed);
    },
  });

  /** Up to `most` public images of the list, and how many there are of all. */
  async function slice(after: Place | undefined, offset: number, most: number): Promise<[number, unknown]> {
    const answer = after
      ? await read(AFTER, after.createdAt, after.id, offset, most)
      : await read(PAGE, offset, offset + most - 1);
    return answer as [number, unknown];
  }

  /** All public images. One that comes or goes meanwhile moves none of the others out of sight. */
  async function* newestFirst(): AsyncIterable<Change[]> {
    let after: Place | undefined;
    // Behind the last one that can be read: those that cannot have no place.
    let offset = 0;
    for (;;) {
      const [, found] = await slice(after, offset, BATCH);
      const batch = rowsOf(found);
      if (batch.length === 0) return;
      yield batch.map(([id, text]) => [id, text]);
      offset += batch.length;
      for (const [index, row] of batch.toReversed().entries()) {
        const image = toRecord(row);
        if (!image) continue;
        after = placeOf(image);
        offset = index;
        break;
      }
    }
  }

  /** The record, or `null` where it cannot be read. */
  const toRecord = ([id, text, access, views]: Row) =>
    unreadable.read(id, () => decodeImage(id, text, Number(access), Number.parseInt(views, 10)));

  const toRecords = (answer: unknown) => rowsOf(answer).flatMap((row) => toRecord(row) ?? []);

  /** The record as it is stored, and read; rejects with `unavailable` where it cannot be read. */
  async function find(id: string): Promise<{ text: string; image: ImageRecord } | null> {
    const [found] = rowsOf(await read(READ, id));
    if (!found) return null;
    const image = toRecord(found);
    if (image) return { text: found[1], image };
    throw new AppError('unavailable', 'The record of this image cannot be read.');
  }

  /** Up to `most` records that can be read, of a list that `fetch` answers slice by slice. */
  async function readable(
    most: number,
    fetch: (offset: number, most: number) => Promise<unknown>,
  ): Promise<ImageRecord[]> {
    const records: ImageRecord[] = [];
    for (let offset = 0; records.length < most; ) {
      const batch = rowsOf(await fetch(offset, most - records.length));
      const read = batch.flatMap((row) => toRecord(row) ?? []);
      records.push(...read);
      if (read.length === batch.length) break;
      offset += batch.length;
    }
    return records;
  }

  /** Images as the server knows them now, for the replica does not follow their accesses. */
  async function fresh(page: Page<ImageRecord>): Promise<Page<ImageRecord>> {
    if (page.items.length === 0) return page;
    return { ...page, items: toRecords(await read(READ, ...page.items.map(({ id }) => id))) };
  }

  async function search(query: PageQuery): Promise<Page<ImageRecord>> {
    const present = follower.present();
    if (present && !present.complete) {
      const page = await present.view.list(query);
      const last = page.items.at(-1);
      // The newest are there already; for what they do not fill, all must be.
      if (last && page.items.length === query.limit)
        return fresh({ ...page, exact: false, next: placeOf(last) });
    }
    const { view } = await follower.whole();
    return fresh(await view.list(query));
  }

  return {
    unreadable: unreadable.count,
    lagMs: follower.lagMs,

    async insert(image) {
      const { id, createdAt, lastAccess, expiresAt, viewsLeft } = image;
      const record = encodeImage(image, newMark());
      const done = await read(INSERT, id, record, createdAt, lastAccess, expiresAt ?? '', viewsLeft ?? '');
      if (done === 0) throw new AppError('conflict', `There is an image ${id} already.`);
      if (visibilityOf(image) === 'public') await follower.catchUp();
    },

    confirm: async (id) => replicas?.confirm(id),

    get: async (id) => (await find(id))?.image ?? null,

    async getMany(ids) {
      const found = new Map<string, ImageRecord>();
      for (let first = 0; first < ids.length; first += BATCH) {
        const batch = ids.slice(first, first + BATCH);
        for (const image of toRecords(await read(READ, ...batch))) found.set(image.id, image);
      }
      return found;
    },

    async list(query) {
      const { text = '', after, offset, limit } = query;
      if (text !== '') return search(query);
      let total = 0;
      const records = await readable(limit + 1, async (passed, most) => {
        const [count, found] = await slice(after, offset + passed, most);
        total = count;
        return found;
      });
      const items = records.slice(0, limit);
      const last = items.at(-1);
      return { items, total, exact: true, next: last && records.length > limit ? placeOf(last) : null };
    },

    newer: async ({ id }) => toRecords(await read(NEWER, id))[0] ?? null,

    async prepare(signal) {
      signal.addEventListener('abort', () => stopping.abort(), { once: true });
      while (!signal.aborted) {
        const followed = await follower.whole().catch(() => null);
        if (followed) return followed.view.prepare(signal);
        await systemClock.sleep(RETRY_MS, signal).catch(() => {});
      }
    },

    preparing() {
      const present = follower.present();
      if (present?.complete) return present.view.preparing();
      return present && 'The images are being read for the search.';
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

    async removeIdle(id, before, fence) {
      const removed = unfenced(await redis.run('never', REMOVE_IDLE, all, [...fenceArgs(fence), id, before]));
      await follower.catchUp();
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
        protected: total('protected') - total('unlisted'),
        unlisted: total('unlisted'),
        bytes: total('bytes'),
        formats: [...FORMATS]
          .sort()
          .map(count)
          .filter(({ count }) => count > 0),
      };
    },

    ...createImageEnds({ redis, keys: all, find, toRecords, catchUp: follower.catchUp }),
    ...createImageCare(redis, all),
  };
}

function placeOf({ createdAt, id }: ImageRecord): Place {
  return { createdAt, id };
}

/** Id, record, last access and views, as the scripts answer them one behind the other. */
type Row = [id: string, text: string, access: string, views: string];

function rowsOf(answer: unknown): Row[] {
  const flat = answer as string[];
  const found: Row[] = [];
  for (let index = 0; index < flat.length; index += 4) {
    found.push([flat[index] ?? '', flat[index + 1] ?? '', flat[index + 2] ?? '', flat[index + 3] ?? '']);
  }
  return found;
}
