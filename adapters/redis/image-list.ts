import { type ImageRecord, visibilityOf } from '../../src/image/image.ts';
import { type Page, type PageQuery, type Place, pageOf, placeOf } from '../../src/image/store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createFollower } from '../../src/lib/follower.ts';
import type { ImageReplica } from '../replicas.ts';
import { unavailable } from '../server-errors.ts';
import type { RedisConnection } from './connection.ts';
import { decodeImage } from './image-codec.ts';
import { type ImageReader, type Read, rowsOf } from './image-reader.ts';
import { PAGE, READ } from './image-scripts.ts';
import { type Change, createChangeLog } from './log.ts';
import type { Unreadable } from './unreadable.ts';

/** Records in one command, which take about a millisecond on the server. */
const BATCH = 1000;

/** A search takes far less. Its thread keeps a replica from being collected. */
const LINGER_MS = 600_000;
/** Pause after the server could not be read, in ms. */
const RETRY_MS = 1000;

interface ImageListOptions {
  redis: RedisConnection;
  keys: { records: string; log: string };
  read: Read;
  reader: ImageReader;
  unreadable: Unreadable;
  openReplica: () => Promise<ImageReplica>;
}

/** Lists, answered by the server, and searches, answered by a replica that follows the server's log of changes. */
export function createImageList({
  redis,
  keys,
  read,
  reader: { toRecord, toRecords, readable },
  unreadable,
  openReplica,
}: ImageListOptions) {
  const stopping = new AbortController();

  const follower = createFollower<ImageReplica, Change>({
    log: createChangeLog(redis, keys),
    late: unavailable,
    open: openReplica,
    close: (replica) => replica.close(),
    lingerMs: LINGER_MS,
    scan: newestFirst,
    async complete(replica) {
      // Until then, and if the disk is full, searches read images that are not in the index yet.
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

  /** Returns up to `most` public images of the list, and the number of all. */
  async function slice(after: Place | undefined, offset: number, most: number): Promise<[number, unknown]> {
    return (await read(PAGE, offset, most, ...(after ? [after.createdAt, after.id] : []))) as [
      number,
      unknown,
    ];
  }

  /** Yields all public images. Concurrent additions and removals never hide others. */
  async function* newestFirst(): AsyncIterable<Change[]> {
    let after: Place | undefined;
    // The number of images before the last readable one: unreadable ones have no position.
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

  /** Reads images again from the server, because the replica does not follow their accesses. */
  async function fresh(page: Page<ImageRecord>): Promise<Page<ImageRecord>> {
    if (page.items.length === 0) return page;
    return { ...page, items: toRecords(await read(READ, ...page.items.map(({ id }) => id))) };
  }

  async function search(query: PageQuery): Promise<Page<ImageRecord>> {
    const present = follower.present();
    if (present && !present.complete) {
      // It is closed if it cannot be filled.
      const page = await present.view.list(query).catch(() => null);
      const last = page?.items.at(-1);
      // The newest are already there; if they do not fill the page, all are needed.
      if (page && last && page.items.length === query.limit)
        return fresh({ ...page, exact: false, next: placeOf(last) });
    }
    const { view } = await follower.whole();
    return fresh(await view.list(query));
  }

  return {
    /** Updates the replica from the server. */
    catchUp: follower.catchUp,
    /** Returns how outdated the replica is if it could not read from the server, in ms. */
    lagMs: follower.lagMs,

    async list(query: PageQuery): Promise<Page<ImageRecord>> {
      const { text = '', after, offset, limit } = query;
      if (text !== '') return search(query);
      let total = 0;
      const records = await readable(limit + 1, async (passed, most) => {
        const [count, found] = await slice(after, offset + passed, most);
        total = count;
        return found;
      });
      return { ...pageOf(records, limit), total, exact: true };
    },

    async prepare(signal: AbortSignal): Promise<void> {
      signal.addEventListener('abort', () => stopping.abort(), { once: true });
      while (!signal.aborted) {
        const followed = await follower.whole().catch(() => null);
        if (followed) return followed.view.prepare(signal);
        await systemClock.sleep(RETRY_MS, signal).catch(() => {});
      }
    },

    preparing(): string | null {
      const present = follower.present();
      if (present?.complete) return present.view.preparing();
      return present && 'The images are being read for the search.';
    },
  };
}
