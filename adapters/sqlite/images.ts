import { AppError } from '../../src/errors.ts';
import { IMAGE_FIELDS } from '../../src/image/fields.ts';
import type { Format, ImageRecord } from '../../src/image/image.ts';
import type { ImageStore, Page } from '../../src/image/store.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import type { Database } from './database.ts';
import { createPlacer } from './image-order.ts';
import { createImageSearch, type SearchSizes } from './image-search.ts';

const FIELDS = ['id', ...namesOf(IMAGE_FIELDS), 'lastAccess'] as const;
const COLUMNS = FIELDS.map(columnOf).join(', ');

/** What to select so that a row is an `ImageRecord`. */
const RECORD = FIELDS.map((field) => `${columnOf(field)} AS ${field}`).join(', ');

/**
 * `ImageStore` over SQLite. Pages of the list are walks down an index. Uploads and deletions are durable: the file was
 * synced, so its record must not be lost with the power. `searchSizes` lets tests do with few images.
 */
export function createSqliteImages(database: Database, searchSizes?: SearchSizes): ImageStore {
  const byId = database.prepare<ImageRecord>(`SELECT ${RECORD} FROM images WHERE id = ?`);
  const insertRow = database.prepare(
    `INSERT INTO images (pos, ${COLUMNS}) VALUES (?, ${FIELDS.map(() => '?').join(', ')})`,
  );
  const deleteRow = database.prepare('DELETE FROM images WHERE id = ?');
  const moveRow = database.prepare('UPDATE images SET pos = ? WHERE pos = ?');
  const publicPage = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE pos IN (
       SELECT pos FROM images INDEXED BY images_public WHERE password_hash IS NULL
       ORDER BY pos DESC LIMIT ? OFFSET ?) ORDER BY pos DESC`,
  );
  const publicCount = database.prepare<{ total: number }>(
    'SELECT ifnull(sum(count), 0) AS total FROM image_counts WHERE protected = 0',
  );
  const setAccess = database.prepare('UPDATE images SET last_access = ? WHERE id = ? AND last_access < ?');
  const idle = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE last_access < ? ORDER BY last_access, id LIMIT ?`,
  );
  const recent = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images ORDER BY last_access DESC, id DESC LIMIT ? OFFSET ?`,
  );
  const known = database.prepare<{ id: string }>(
    'SELECT id FROM images WHERE id IN (SELECT value FROM json_each(?))',
  );
  const counts = database.prepare<{ format: Format; protected: number; count: number; bytes: number }>(
    'SELECT * FROM image_counts WHERE count > 0 ORDER BY format',
  );
  const agreement = database.prepare<{ records: number; counted: number }>(
    `SELECT (SELECT count(*) FROM images) AS records,
       (SELECT ifnull(sum(count), 0) FROM image_counts) AS counted`,
  );
  const recount = [
    'DELETE FROM image_counts',
    `INSERT INTO image_counts
       SELECT format, password_hash IS NOT NULL, count(*), sum(size) FROM images GROUP BY 1, 2`,
  ].map((sql) => database.prepare(sql));
  const buried = database.prepare<{ id: string }>(
    'SELECT id FROM tombstones WHERE id IN (SELECT value FROM json_each(?))',
  );
  const dropTombstones = database.prepare(
    `DELETE FROM tombstones WHERE at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?`,
  );
  const place = createPlacer(database, (from, to) => moveRow.run(to, from));
  const imageSearch = createImageSearch(database, searchSizes);

  const search = (text: string, offset: number, limit: number): Promise<Page<ImageRecord>> =>
    imageSearch.run((index) => {
      const { ids, total } = index.search(text, offset, limit);
      return { items: ids.flatMap((id) => byId.get(id) ?? []), total };
    });

  return {
    async insert(image) {
      database.transaction(() => {
        if (byId.get(image.id)) throw new AppError('conflict', `There is an image ${image.id} already.`);
        insertRow.run(place(image), ...FIELDS.map((field) => image[field]));
      });
      await database.onDisk();
    },

    get: async (id) => byId.get(id),

    async list({ text = '', offset, limit }) {
      if (text !== '') return search(text, offset, limit);
      return database.snapshot(() => ({
        items: publicPage.all(limit, offset),
        total: publicCount.get()?.total ?? 0,
      }));
    },

    async touch(accesses) {
      if (accesses.size === 0) return;
      database.transaction(() => {
        for (const [id, at] of accesses) setAccess.run(at, id, at);
      });
    },

    async remove(id) {
      const found = database.transaction(() => {
        const image = byId.get(id);
        if (image) deleteRow.run(id);
        return image !== null;
      });
      if (found) await database.onDisk();
      return found;
    },

    async removeIdle(id, before) {
      return database.transaction(() => {
        const image = byId.get(id);
        const isIdle = image !== null && image.lastAccess < before;
        if (isIdle) deleteRow.run(id);
        return isIdle;
      });
    },

    idleSince: async (before, limit) => idle.all(before, limit),

    recent: async ({ offset, limit }) => recent.all(limit, offset),

    existing: async (ids) => new Set(known.all(JSON.stringify(ids)).map(({ id }) => id)),

    async summary() {
      const groups = counts.all();
      const sum = (rows: typeof groups, field: 'count' | 'bytes') =>
        rows.reduce((total, row) => total + row[field], 0);
      const formats = [...new Set(groups.map(({ format }) => format))];
      return {
        images: sum(groups, 'count'),
        protected: sum(
          groups.filter((group) => group.protected === 1),
          'count',
        ),
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
    },

    async faults() {
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
