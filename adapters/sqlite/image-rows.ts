import { IMAGE_FIELDS } from '../../src/image/fields.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import type { Database } from './database.ts';
import { createPlacer } from './image-order.ts';
import type { ImageSearch } from './image-search.ts';

const FIELDS = ['id', ...namesOf(IMAGE_FIELDS), 'lastAccess'] as const;
const COLUMNS = FIELDS.map(columnOf).join(', ');

/** What to select so that a row is an `ImageRecord`. */
export const RECORD = FIELDS.map((field) => `${columnOf(field)} AS ${field}`).join(', ');

/** Changes of the images and of the index of their search. To be called in a transaction. */
export interface ImageRows {
  /** Inserts an image that is not there yet; `position`: its own, where the caller knows it. */
  insert(image: ImageRecord, position?: number): void;
  /** False where there was none. */
  remove(id: string): boolean;
}

export function createImageRows(
  database: Database,
  search: Pick<ImageSearch, 'add' | 'remove' | 'move'>,
): ImageRows {
  const insertRow = database.prepare(
    `INSERT INTO images (pos, ${COLUMNS}) VALUES (?, ${FIELDS.map(() => '?').join(', ')})`,
  );
  const deleteRow = database.prepare<{ pos: number; listed: number }>(
    'DELETE FROM images WHERE id = ? RETURNING pos, password_hash IS NULL AS listed',
  );
  const moveRow = database.prepare('UPDATE images SET pos = ? WHERE pos = ?');
  const place = createPlacer(database, (from, to) => {
    moveRow.run(to, from);
    search.move(from, to);
  });

  return {
    insert(image, position = place(image)) {
      insertRow.run(position, ...FIELDS.map((field) => image[field]));
      if (image.passwordHash === null) search.add(position, image);
    },

    remove(id) {
      const [gone] = deleteRow.all(id);
      if (gone?.listed) search.remove(gone.pos);
      return gone !== undefined;
    },
  };
}
