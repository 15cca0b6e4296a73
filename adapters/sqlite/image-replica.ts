import type { Runtime } from '../../src/runtime/runtime.ts';
import type { ImageReplica } from '../replicas.ts';
import { openSearchedCopy } from './copy.ts';
import type { Database } from './database.ts';
import { createImageList } from './image-list.ts';
import { createImageRows } from './image-rows.ts';
import { createImageSearch } from './image-search.ts';

/** Opens an empty replica in the folder, which is searched in a thread if the runtime has one. */
export async function openImageReplica(
  { openSqlite, openSqliteThread }: Pick<Runtime, 'openSqlite' | 'openSqliteThread'>,
  folder: string,
): Promise<ImageReplica> {
  return createImageReplica(await openSearchedCopy(openSqlite, folder, openSqliteThread));
}

/** Turns an empty database into a replica, which is best filled from the newest image on. */
function createImageReplica(database: Database): ImageReplica {
  const search = createImageSearch(database);
  const rows = createImageRows(database, search);
  const triggers = database.prepare<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'images'`,
  );
  for (const { name } of triggers.all()) database.prepare(`DROP TRIGGER ${name}`).run();
  // Images are copied first, and indexed once all are there: until then a search reads them directly.
  database.prepare('UPDATE image_index SET below = ?').run(Number.MAX_SAFE_INTEGER);

  return {
    ...createImageList(database, search),

    apply(images, removed) {
      database.transaction(() => {
        for (const id of removed) rows.remove(id);
        for (const image of images) if (!rows.change(image.id, image)) rows.insert(image);
      });
    },

    close: database.close,
  };
}
