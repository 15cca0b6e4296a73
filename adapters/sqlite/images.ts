import { AppError } from '../../src/errors.ts';
import type { Format, ImageRecord, Visibility } from '../../src/image/image.ts';
import { type ImageStore, MOST_COUNTED, type Page, type PageQuery } from '../../src/image/store.ts';
import { breathe } from '../../src/lib/schedule.ts';
import type { Database } from './database.ts';
import { createFences } from './fences.ts';
import { createImageEnds } from './image-ends.ts';
import { createLocator } from './image-order.ts';
import { createImageRows, RECORD } from './image-rows.ts';
import { createImageSearch, LISTED, type SearchSteps } from './image-search.ts';
import { VISIBILITY } from './schema.ts';

/** Looks that are read at once: a few milliseconds. */
const LOOKS = 5000;
/** The position above all images. */
const TOP = Number.MAX_SAFE_INTEGER;

/**
 * `ImageStore` over SQLite. Pages of the list are walks down an index. Uploads and deletions are durable: the file was
 * synced, so its record must not be lost with the power. `searchSteps` lets tests do with few images.
 */
export function createSqliteImages(database: Database, searchSteps?: SearchSteps): ImageStore {
  const byId = database.prepare<ImageRecord>(`SELECT ${RECORD} FROM images WHERE id = ?`);
  const byIds = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE id IN (SELECT value FROM json_each(?))`,
  );
  const publicPage = database.prepare<{ pos: number }>(
    `SELECT pos FROM images INDEXED BY images_listed WHERE ${LISTED} AND pos < ?
     ORDER BY pos DESC LIMIT ? OFFSET ?`,
  );
  const byPosition = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE pos IN (SELECT value FROM json_each(?)) AND ${LISTED}
     ORDER BY pos DESC`,
  );
  const publicCount = database.prepare<{ total: number }>(
    `SELECT ifnull(sum(count), 0) AS total FROM image_counts WHERE visibility = 'public'`,
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
  const counts = database.prepare<{ format: Format; visibility: Visibility; count: number; bytes: number }>(
    'SELECT * FROM image_counts WHERE count > 0 ORDER BY format',
  );
  const agreement = database.prepare<{ records: number; counted: number }>(
    `SELECT (SELECT count(*) FROM images) AS records,
       (SELECT ifnull(sum(count), 0) FROM image_counts) AS counted`,
  );
  const recount = [
    'DELETE FROM image_counts',
    `INSERT INTO image_counts
       SELECT format, ${VISIBILITY('images')}, count(*), sum(size) FROM images GROUP BY 1, 2`,
  ].map((sql) => database.prepare(sql));
  const buried = database.prepare<{ id: string }>(
    `SELECT value AS id FROM json_each(?)
     WHERE value IN (SELECT id FROM tombstones) OR value IN (SELECT id FROM image_ends)`,
  );
  const dropTombstones = database.prepare(
    `DELETE FROM tombstones WHERE at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?`,
  );
  const checkFence = createFences(database, 'images');
  const imageSearch = createImageSearch(database, searchSteps);
  const rows = createImageRows(database, imageSearch);
  const { dropOld, ...ends } = createImageEnds(database, rows);
  const positionBelow = createLocator(database);

  /** A page of what the positions name; there is one more than the page has room for where others follow. */
  function pageOf(positions: readonly number[], limit: number): Pick<Page<ImageRecord>, 'items' | 'next'> {
    const items = byPosition.all(JSON.stringify(positions.slice(0, limit)));
    const last = items.at(-1);
    const next = last && positions.length > limit ? { createdAt: last.createdAt, id: last.id } : null;
    return { items, next };
  }

  async function search(text: string, { after, offset, limit }: PageQuery): Promise<Page<ImageRecord>> {
    const counted = await imageSearch.find(text, TOP, MOST_COUNTED + 1);
    const exact = counted.length <= MOST_COUNTED;
    const total = Math.min(counted.length, MOST_COUNTED);
    const below = after ? positionBelow(after) : TOP;
    const behind = after ? counted.filter((position) => position < below) : counted.slice(0, MOST_COUNTED);
    let positions = behind.slice(offset, offset + limit + 1);
    if (!exact && positions.length <= limit && (after || offset < MOST_COUNTED)) {
      // The page goes on where counting has ended.
      const first = positions[0];
      positions = await imageSearch.find(text, first === undefined ? below : first + 1, limit + 1);
    }
    return { ...pageOf(positions, limit), total, exact };
  }

  return {
    async insert(image) {
      database.transaction(() => {
        if (byId.get(image.id)) throw new AppError('conflict', `There is an image ${image.id} already.`);
        rows.insert(image);
      });
      await database.onDisk();
    },

    // It is on the disk already.
    confirm: async () => {},

    get: async (id) => byId.get(id),

    getMany: async (ids) => new Map(byIds.all(JSON.stringify(ids)).map((image) => [image.id, image])),

    async list(query) {
      const { text = '', after, offset, limit } = query;
      if (text !== '') return search(text, query);
      return database.snapshot(() => {
        const page = publicPage.all(after ? positionBelow(after) : TOP, limit + 1, offset);
        const positions = page.map(({ pos }) => pos);
        return { ...pageOf(positions, limit), total: publicCount.get()?.total ?? 0, exact: true };
      });
    },

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

    async summary() {
      const groups = counts.all();
      const sum = (rows: typeof groups, field: 'count' | 'bytes') =>
        rows.reduce((total, row) => total + row[field], 0);
      const countOf = (kind: Visibility) =>
        sum(
          groups.filter(({ visibility }) => visibility === kind),
          'count',
        );
      const formats = [...new Set(groups.map(({ format }) => format))];
      return {
        images: sum(groups, 'count'),
        protected: countOf('protected'),
        unlisted: countOf('unlisted'),
        bytes: sum(groups, 'bytes'),
        formats: formats.map((format) => ({
          format,
          count: sum(
            groups.filter((group) => group.format === format),
            'count',
          ),
        })),
      };
    },

    buried: async (ids) => new Set(buried.all(JSON.stringify(ids)).map(({ id }) => id)),

    async dropTombstones(ageMs) {
      dropTombstones.run(ageMs);
      dropOld();
    },

    prepare: imageSearch.build,

    preparing: () => (imageSearch.isBuilt() ? null : 'The index of the search is being built.'),

    async faults() {
      const gone = database.fileFault();
      if (gone !== null) return [{ message: gone, mendable: false }];
      const { records, counted } = agreement.get() ?? { records: 0, counted: 0 };
      if (records === counted) return [];
      return [{ message: `The counts know ${counted} of ${records} images.`, mendable: counted < records }];
    },

    async repair() {
      database.transaction(() => {
        for (const step of recount) step.run();
      });
    },
  };
}
