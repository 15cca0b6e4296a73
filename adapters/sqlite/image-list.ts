import type { ImageRecord } from '../../src/image/image.ts';
import { type ImageStore, MOST_COUNTED, type Page, type PageQuery, placeOf } from '../../src/image/store.ts';
import type { Database } from './database.ts';
import { createLocator } from './image-order.ts';
import { RECORD } from './image-rows.ts';
import { type ImageSearch, LISTED } from './image-search.ts';

/** The position above all images. */
const TOP = Number.MAX_SAFE_INTEGER;

/** Lists and searches the public images. */
export function createImageList(
  database: Database,
  index: Pick<ImageSearch, 'find' | 'build' | 'isBuilt'>,
): Pick<ImageStore, 'list' | 'newer' | 'prepare' | 'preparing'> {
  const publicPage = database.prepare<{ pos: number }>(
    `SELECT pos FROM images INDEXED BY images_listed WHERE ${LISTED} AND pos < ?
     ORDER BY pos DESC LIMIT ? OFFSET ?`,
  );
  const newer = database.prepare<{ pos: number }>(
    `SELECT pos FROM images INDEXED BY images_listed
     WHERE ${LISTED} AND pos > (SELECT pos FROM images WHERE id = ? AND ${LISTED}) ORDER BY pos LIMIT 1`,
  );
  const byPosition = database.prepare<ImageRecord>(
    `SELECT ${RECORD} FROM images WHERE pos IN (SELECT value FROM json_each(?)) AND ${LISTED}
     ORDER BY pos DESC`,
  );
  const publicCount = database.prepare<{ total: number }>(
    `SELECT ifnull(sum(count), 0) AS total FROM image_counts WHERE visibility = 'public'`,
  );
  const positionBelow = createLocator(database);

  /** Returns a page of the images at the positions, which include one more than fits if others follow. */
  function pageOf(positions: readonly number[], limit: number): Pick<Page<ImageRecord>, 'items' | 'next'> {
    const items = byPosition.all(JSON.stringify(positions.slice(0, limit)));
    const last = items.at(-1);
    const next = last && positions.length > limit ? placeOf(last) : null;
    return { items, next };
  }

  async function search(text: string, { after, offset, limit }: PageQuery): Promise<Page<ImageRecord>> {
    const counted = await index.find(text, TOP, MOST_COUNTED + 1);
    const exact = counted.length <= MOST_COUNTED;
    const total = Math.min(counted.length, MOST_COUNTED);
    const below = after ? positionBelow(after) : TOP;
    const behind = after ? counted.filter((position) => position < below) : counted.slice(0, MOST_COUNTED);
    let positions = behind.slice(offset, offset + limit + 1);
    if (!exact && positions.length <= limit && (after || offset < MOST_COUNTED)) {
      // Continues where counting has ended.
      const first = positions[0];
      positions = await index.find(text, first === undefined ? below : first + 1, limit + 1);
    }
    return { ...pageOf(positions, limit), total, exact };
  }

  return {
    async list(query) {
      const { text = '', after, offset, limit } = query;
      if (text !== '') return search(text, query);
      return database.snapshot(() => {
        const page = publicPage.all(after ? positionBelow(after) : TOP, limit + 1, offset);
        const positions = page.map(({ pos }) => pos);
        return { ...pageOf(positions, limit), total: publicCount.get()?.total ?? 0, exact: true };
      });
    },

    async newer({ id }) {
      return database.snapshot(() => {
        const found = newer.get(id);
        return found && (pageOf([found.pos], 1).items[0] ?? null);
      });
    },

    prepare: index.build,

    preparing: () => (index.isBuilt() ? null : 'The search index is being built.'),
  };
}
