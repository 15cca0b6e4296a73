import { IMAGE_FIELDS } from '../../src/image/fields.ts';
import { CHANGEABLE, type ImageChange, type ImageRecord, visibilityOf } from '../../src/image/image.ts';
import { isSearchedAlike } from '../../src/image/records/searched.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import type { Database } from './database.ts';
import { createPlacer } from './image-order.ts';
import { type ImageSearch, LISTED } from './image-search.ts';

const FIELDS = ['id', ...namesOf(IMAGE_FIELDS), 'lastAccess', 'viewsLeft'] as const;
const COLUMNS = FIELDS.map(columnOf).join(', ');

/** Columns that make a row an `ImageRecord`. */
export const RECORD = FIELDS.map((field) => `${columnOf(field)} AS ${field}`).join(', ');

export function createImageRows(database: Database, search: Pick<ImageSearch, 'add' | 'remove' | 'move'>) {
  const insertRow = database.prepare(
    `INSERT INTO images (pos, ends_at, ${COLUMNS}) VALUES (?, ?, ${FIELDS.map(() => '?').join(', ')})`,
  );
  const forgetEnd = database.prepare('DELETE FROM image_ends WHERE id = ?');
  const deleteRow = database.prepare<{ pos: number; listed: number }>(
    `DELETE FROM images WHERE id = ? RETURNING pos, ${LISTED} AS listed`,
  );
  const before = database.prepare<ImageRecord & { pos: number; listed: number }>(
    `SELECT pos, ${LISTED} AS listed, ${RECORD} FROM images WHERE id = ?`,
  );
  // While the last view is in progress, its expiry applies unless the new one is earlier.
  const changeRow = database.prepare(
    `UPDATE images SET ${CHANGEABLE.map((field) => `${columnOf(field)} = ?`).join(', ')},
       ends_at = CASE WHEN views_left = 0 THEN min(ends_at, ifnull(?, ends_at)) ELSE ? END
     WHERE id = ?`,
  );
  const moveRow = database.prepare('UPDATE images SET pos = ? WHERE pos = ?');
  const place = createPlacer(database, (from, to) => {
    moveRow.run(to, from);
    search.move(from, to);
  });

  return {
    /** Inserts a new image; `position`: its position, if the caller knows it. */
    insert(image: ImageRecord, position: number = place(image)): void {
      insertRow.run(position, image.expiresAt, ...FIELDS.map((field) => image[field]));
      forgetEnd.run(image.id);
      if (visibilityOf(image) === 'public') search.add(position, image);
    },

    /** Returns false if there was none. */
    remove(id: string): boolean {
      const [gone] = deleteRow.all(id);
      if (gone?.listed) search.remove(gone.pos);
      return gone !== undefined;
    },

    /** Returns the changed record; `null` if there is none. */
    change(id: string, change: ImageChange): ImageRecord | null {
      const found = before.get(id);
      if (!found) return null;
      const { pos, listed, ...record } = found;
      const image = { ...record, ...change };
      const { expiresAt } = image;
      changeRow.run(...CHANGEABLE.map((field) => image[field]), expiresAt, expiresAt, id);
      const isListed = visibilityOf(image) === 'public';
      if (listed && isListed && isSearchedAlike(record, image)) return image;
      if (listed) search.remove(pos);
      if (isListed) search.add(pos, image);
      return image;
    },
  };
}

/** Changes images together with the search index. Must be called in a transaction. */
export type ImageRows = ReturnType<typeof createImageRows>;
