import type { ImageRecord } from '../../src/image/image.ts';
import { END_REMEMBERED_MS, type ImageStore } from '../../src/image/store.ts';
import type { Database } from './database.ts';
import { type ImageRows, RECORD } from './image-rows.ts';

type Ends = Pick<ImageStore, 'takeView' | 'endView' | 'endedBy' | 'removeEnded' | 'hasEnded'>;

const NOW = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

/** Counted views, expired and used-up images. */
export function createImageEnds(
  database: Database,
  rows: Pick<ImageRows, 'remove'>,
): Ends & { dropOld(): void } {
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
  };
}
