import { AppError } from '../../src/errors.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { type ImageGroup, summarise } from '../../src/image/summary.ts';
import { breathe } from '../../src/lib/schedule.ts';
import type { Database } from './database.ts';
import { createFences } from './fences.ts';
import { createImageCare } from './image-care.ts';
import { createImageEnds } from './image-ends.ts';
import { createImageList } from './image-list.ts';
import { createImageRows, RECORD } from './image-rows.ts';
import { createImageSearch, type SearchSteps } from './image-search.ts';

/** Number of hashes read at once, which takes a few milliseconds. */
const LOOKS = 5000;
/**
 * An `ImageStore` over SQLite. Pages of the list are walks down an index. Uploads and deletions are durable: the file
 * was synced, so a power failure must not lose its record. `searchSteps` lets tests work with few images.
 */
export function createSqliteImages(database: Database, searchSteps?: SearchSteps): ImageStore {
  const byId = database.prepare<ImageRecord>(`SELECT ${RECORD} FROM images WHERE id = ?`);
  const byIds = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE id IN (SELECT value FROM json_each(?))`,
  );
  const setAccess = database.prepare('UPDATE images SET last_access = ? WHERE id = ? AND last_access < ?');
  const idle = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE ends_at IS NULL AND last_access < ? ORDER BY last_access, id LIMIT ?`,
  );
  const looks = database.prepare<{ pos: number; id: string; phash: string | null }>(
    'SELECT pos, id, phash FROM images WHERE pos > ? ORDER BY pos LIMIT ?',
  );
  const hasNoEnd = database.prepare(
    'SELECT 1 FROM images WHERE id = ? AND ends_at IS NULL AND last_access < ?',
  );
  const recent = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images ORDER BY last_access DESC, id DESC LIMIT ? OFFSET ?`,
  );
  const recentBehind = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE (last_access, id) < (?, ?) ORDER BY last_access DESC, id DESC LIMIT ? OFFSET ?`,
  );
  const known = database.prepare<{ id: string }>(
    'SELECT id FROM images WHERE id IN (SELECT value FROM json_each(?))',
  );
  const counts = database.prepare<ImageGroup>('SELECT * FROM image_counts WHERE count > 0 ORDER BY format');
  const checkFence = createFences(database, 'images');
  const index = createImageSearch(database, searchSteps);
  const rows = createImageRows(database, index);
  const { dropOld, ...ends } = createImageEnds(database, rows);

  return {
    async insert(image) {
      database.transaction(() => {
        if (byId.get(image.id)) throw new AppError('conflict', `Image ${image.id} already exists.`);
        rows.insert(image);
      });
      await database.onDisk();
    },

    // It is already on the disk.
    confirm: async () => {},

    get: async (id) => byId.get(id),

    getMany: async (ids) => new Map(byIds.all(JSON.stringify(ids)).map((image) => [image.id, image])),

    ...createImageList(database, index),

    async touch(accesses) {
      if (accesses.size === 0) return;
      database.transaction(() => {
        for (const [id, at] of accesses) setAccess.run(at, id, at);
      });
    },

    async remove(id) {
      const found = database.freeing(() => rows.remove(id));
      if (found) await database.onDisk();
      return found;
    },

    async removeIdle(id, before, fence) {
      return database.freeing(() => {
        checkFence(fence);
        return hasNoEnd.get(id, before) !== null && rows.remove(id);
      });
    },

    ...ends,

    async change(id, change) {
      const changed = database.transaction(() => rows.change(id, change));
      if (changed) await database.onDisk();
      return changed;
    },

    idleSince: async (before, limit) => idle.all(before, limit),

    recent: async ({ offset, limit, after }) =>
      after ? recentBehind.all(after.lastAccess, after.id, limit, offset) : recent.all(limit, offset),

    async *looks() {
      for (let last = Number.MIN_SAFE_INTEGER; ; ) {
        const rows = looks.all(last, LOOKS);
        yield rows.flatMap(({ id, phash }): [string, string][] => (phash === null ? [] : [[id, phash]]));
        last = rows.at(-1)?.pos ?? last;
        if (rows.length < LOOKS) return;
        await breathe();
      }
    },

    existing: async (ids) => new Set(known.all(JSON.stringify(ids)).map(({ id }) => id)),

    summary: async () => summarise(counts.all()),

    ...createImageCare(database, dropOld),
  };
}
