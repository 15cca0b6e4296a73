import { AppError } from '../../src/errors.ts';
import type { Format, ImageRecord } from '../../src/image/image.ts';
import type { ImageStore, Page } from '../../src/image/store.ts';
import { foldText } from '../../src/shared/fold-text.ts';
import type { Database } from './database.ts';
import { indexText, matchQuery, searchFields } from './grams.ts';
import { createSearchMatches, type MatchSizes } from './image-matches.ts';
import { createPlacer } from './image-order.ts';

type Row = ImageRecord & { pos: number };

const RECORD = `id, filename, format, width, height, frames, size, hash, uploader, password_hash AS passwordHash,
  delete_token_hash AS deleteTokenHash, created_at AS createdAt, last_access AS lastAccess`;

/**
 * `ImageStore` over SQLite. Pages of the list and of a search are walks down an index from the newest match. Uploads and
 * deletions are durable: the file was synced, so its record must not be lost with the power. One store for each
 * database connection, as it remembers the matches of searches; `searchSizes` lets tests do with few of them.
 */
export function createSqliteImages(database: Database, searchSizes?: MatchSizes): ImageStore {
  const byId = database.prepare<ImageRecord>(`SELECT ${RECORD} FROM images WHERE id = ?`);
  const rowOf = database.prepare<Row>(`SELECT pos, ${RECORD} FROM images WHERE id = ?`);
  const rowAt = database.prepare<ImageRecord>(`SELECT ${RECORD} FROM images WHERE pos = ?`);
  const insertRow = database.prepare(`INSERT INTO images VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const deleteRow = database.prepare('DELETE FROM images WHERE pos = ?');
  const moveRow = database.prepare('UPDATE images SET pos = ? WHERE pos = ?');
  const index = database.prepare('INSERT INTO image_grams (rowid, text) VALUES (?, ?)');
  const unindex = database.prepare('DELETE FROM image_grams WHERE rowid = ?');
  const publicPage = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE pos IN (
       SELECT pos FROM images INDEXED BY images_public WHERE password_hash IS NULL
       ORDER BY pos DESC LIMIT ? OFFSET ?) ORDER BY pos DESC`,
  );
  const matchPage = database.prepare<{ rowid: number }>(
    `SELECT rowid FROM image_grams WHERE image_grams MATCH ? ORDER BY rowid DESC LIMIT ? OFFSET ?`,
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
  const matches = createSearchMatches(database, searchSizes);

  const place = createPlacer(database, (from, to) => {
    moveRow.run(to, from);
    const image = rowAt.get(to);
    if (!image || image.passwordHash !== null) return;
    const fields = searchFields(image);
    unindex.run(from);
    index.run(to, indexText(fields));
    moved.push({ fields, from, to });
  });
  const moved: { fields: string[]; from: number; to: number }[] = [];

  /** Runs a transaction that may place an image, and then tells the searches of the moves, if they came to stand. */
  function placing(work: () => void): void {
    try {
      database.durably(work);
      for (const { fields, from, to } of moved) {
        matches.changed(-1, fields, from);
        matches.changed(1, fields, to);
      }
    } finally {
      moved.length = 0;
    }
  }

  function removeRow({ pos, passwordHash }: Row): void {
    deleteRow.run(pos);
    if (passwordHash === null) unindex.run(pos);
  }

  function forget(row: Row): void {
    if (row.passwordHash === null) matches.changed(-1, searchFields(row), row.pos);
  }

  async function search(text: string, offset: number, limit: number): Promise<Page<ImageRecord>> {
    const query = matchQuery(text);
    if (query === null) return { items: [], total: 0 };
    for (;;) {
      const page = database.snapshot(() => {
        const known = matches.known(text);
        if (!known) return null;
        const { total, newest } = known;
        if (offset >= total) return { items: [], total };
        const end = Math.min(offset + limit, total);
        const positions =
          end <= newest.length
            ? newest.slice(offset, end)
            : matchPage.all(query, limit, offset).map(({ rowid }) => rowid);
        return { items: positions.flatMap((pos) => rowAt.get(pos) ?? []), total };
      });
      if (page) return page;
      await matches.count(text, query);
    }
  }

  return {
    async insert(image) {
      const fields = searchFields(image);
      let pos = 0;
      placing(() => {
        if (byId.get(image.id)) throw new AppError('conflict', `There is an image ${image.id} already.`);
        pos = place(image);
        insertRow.run(
          pos,
          image.id,
          image.filename,
          image.format,
          image.width,
          image.height,
          image.frames,
          image.size,
          image.hash,
          image.uploader,
          image.passwordHash,
          image.deleteTokenHash,
          image.createdAt,
          image.lastAccess,
        );
        if (image.passwordHash === null) index.run(pos, indexText(fields));
      });
      if (image.passwordHash === null) matches.changed(1, fields, pos);
    },

    get: async (id) => byId.get(id),

    async list({ text = '', offset, limit }) {
      if (text !== '') return search(foldText(text), offset, limit);
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
      const row = database.durably(() => {
        const found = rowOf.get(id);
        if (found) removeRow(found);
        return found;
      });
      if (row) forget(row);
      return row !== null;
    },

    async removeIdle(id, before) {
      const row = database.transaction(() => {
        const found = rowOf.get(id);
        if (!found || found.lastAccess >= before) return null;
        removeRow(found);
        return found;
      });
      if (row) forget(row);
      return row !== null;
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
  };
}
