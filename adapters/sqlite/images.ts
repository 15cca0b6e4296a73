import { AppError, message } from '../../src/errors.ts';
import { type Finding, fail, warn } from '../../src/findings/finding.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { type ImageGroup, summarise } from '../../src/image/records/summary.ts';
import { END_REMEMBERED_MS, type ImageStore } from '../../src/image/store.ts';
import { batches, slices } from '../../src/lib/batches.ts';
import { breathe } from '../../src/lib/schedule.ts';
import type { Database } from './database.ts';
import { createFences } from './fences.ts';
import { createImageList } from './image-list.ts';
import { createImageRows, type ImageRows, RECORD } from './image-rows.ts';
import { createImageSearch, type SearchSteps } from './image-search.ts';
import { VISIBILITY } from './schema.ts';

/** Number of hashes read at once, which takes a few milliseconds. */
const LOOKS = 5000;
/** Number of accesses in one transaction, which takes some milliseconds. After an outage a hundred thousand wait. */
const TOUCHED = 250;

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
  type Look = { pos: number; id: string; phash: string | null };
  const looks = database.prepare<Look>(
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
  const { dropOld, forgetViews, ...expiry } = createImageExpiry(database, rows);

  return {
    async insert(image) {
      database.transaction(() => {
        if (byId.get(image.id))
          throw new AppError('conflict', message('Image {id} already exists.', { id: image.id }));
        rows.insert(image);
      });
      await database.onDisk();
    },

    get: async (id) => byId.get(id),

    getMany: async (ids) => new Map(byIds.all(JSON.stringify(ids)).map((image) => [image.id, image])),

    ...createImageList(database, index),

    async prepare(signal) {
      forgetViews();
      await index.build(signal);
    },

    async touch(accesses) {
      for (const [turn, some] of [...slices([...accesses], TOUCHED)].entries()) {
        if (turn > 0) await breathe();
        database.urgent(() => {
          for (const [id, at] of some) setAccess.run(at, id, at);
        });
      }
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

    ...expiry,

    async change(id, change) {
      const changed = database.urgent(() => rows.change(id, change));
      if (changed) await database.onDisk();
      return changed;
    },

    idleSince: async (before, limit) => idle.all(before, limit),

    recent: async ({ offset, limit, after }) =>
      after ? recentBehind.all(after.lastAccess, after.id, limit, offset) : recent.all(limit, offset),

    async *looks() {
      const read = async (last?: Look) => looks.all(last?.pos ?? Number.MIN_SAFE_INTEGER, LOOKS);
      for await (const rows of batches(LOOKS, read)) {
        yield rows.flatMap(({ id, phash }): [string, string][] => (phash === null ? [] : [[id, phash]]));
        await breathe();
      }
    },

    existing: async (ids) => new Set(known.all(JSON.stringify(ids)).map(({ id }) => id)),

    summary: async () => summarise(counts.all()),

    ...createImageRepair(database, dropOld),
  };
}

type Expiry = Pick<ImageStore, 'takeView' | 'endView' | 'endedBy' | 'removeEnded' | 'hasEnded'>;

const NOW = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

/** Counted views, expired and used-up images. */
function createImageExpiry(
  database: Database,
  rows: Pick<ImageRows, 'remove'>,
): Expiry & { dropOld(): void; forgetViews(): void } {
  const take = database.prepare<{ left: number }>(
    `UPDATE images SET views_left = views_left - 1, views_open = views_open + 1,
       ends_at = CASE WHEN views_left = 1 THEN min(ifnull(expires_at, ?), ?) ELSE ends_at END
     WHERE id = ? AND views_left > 0 RETURNING views_left AS left`,
  );
  const giveBack = database.prepare(
    `UPDATE images SET views_left = views_left + 1, views_open = max(0, views_open - 1), ends_at = expires_at
     WHERE id = ? AND views_left IS NOT NULL`,
  );
  const keep = database.prepare<{ seen: number }>(
    `UPDATE images SET views_open = max(0, views_open - 1) WHERE id = ?
     RETURNING views_left = 0 AND views_open = 0 AS seen`,
  );
  const ended = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE ends_at <= ? ORDER BY ends_at, last_access, id LIMIT ?`,
  );
  const hasEnd = database.prepare('SELECT 1 FROM images WHERE id = ? AND ends_at <= ?');
  const remember = database.prepare(
    `INSERT INTO image_ends VALUES (?, ${NOW}) ON CONFLICT DO UPDATE SET at = excluded.at`,
  );
  const forgetViews = database.prepare(
    `UPDATE images SET views_open = 0, ends_at = CASE views_left WHEN 0 THEN 0 ELSE ends_at END
     WHERE views_open > 0`,
  );
  const remembered = database.prepare(`SELECT 1 FROM image_ends WHERE id = ? AND at > ${NOW} - ?`);
  const dropOld = database.prepare(`DELETE FROM image_ends WHERE at <= ${NOW} - ?`);

  function end(id: string): boolean {
    remember.run(id);
    return rows.remove(id);
  }

  return {
    async takeView(id, _token, until) {
      const [taken] = database.transaction(() => take.all(until, until, id));
      return taken !== undefined;
    },

    async endView(id, _token, seen) {
      const last = database.freeing(() => {
        if (!seen) {
          giveBack.run(id);
          return false;
        }
        const [kept] = keep.all(id);
        return kept?.seen === 1 && end(id);
      });
      if (last) await database.onDisk();
      return last;
    },

    endedBy: async (time, limit) => ended.all(time, limit),

    async removeEnded(id, time) {
      const gone = database.freeing(() => hasEnd.get(id, time) !== null && end(id));
      if (gone) await database.onDisk();
      return gone;
    },

    hasEnded: async (id) => remembered.get(id, END_REMEMBERED_MS) !== null,

    dropOld: () => dropOld.run(END_REMEMBERED_MS),

    // Only a server prepares searches, and only one server uses the file: nobody sends what is still counted as being sent.
    forgetViews: () => database.transaction(() => forgetViews.run()),
  };
}

/**
 * Finds and repairs inconsistencies of image records over SQLite. `dropOldEnds`: forgets images that ended long ago.
 */
function createImageRepair(
  database: Database,
  dropOldEnds: () => void,
): Pick<ImageStore, 'buried' | 'dropTombstones' | 'faults' | 'knownFaults' | 'repair'> {
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

  const faults = async (): Promise<Finding[]> => {
    const gone = database.fileFault();
    if (gone !== null) return [fail(String(gone))];
    const { records, counted } = agreement.get() ?? { records: 0, counted: 0 };
    if (records === counted) return [];
    return [(counted < records ? warn : fail)(`The counts cover ${counted} of ${records} images.`)];
  };

  return {
    buried: async (ids) => new Set(buried.all(JSON.stringify(ids)).map(({ id }) => id)),

    async dropTombstones(ageMs) {
      database.freeing(() => {
        dropTombstones.run(ageMs);
        dropOldEnds();
      });
    },

    faults,
    // Counting millions takes milliseconds.
    knownFaults: faults,

    async repair() {
      database.transaction(() => {
        for (const step of recount) step.run();
      });
    },
  };
}
