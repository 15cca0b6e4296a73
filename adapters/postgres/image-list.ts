import type { ImageRecord } from '../../src/image/image.ts';
import { type ImageStore, pageOf } from '../../src/image/store.ts';
import type { PostgresConnection } from './connection.ts';
import { behind, publicTotal, RECORD } from './image-rows.ts';
import { createImageSearch } from './image-search.ts';
import { LISTED } from './schema.ts';

/** Lists and searches the public images on the server of this connection. */
export function createImageList(
  connection: PostgresConnection,
  searchOptions?: Parameters<typeof createImageSearch>[1],
): ImageStore['list'] {
  const { table, ask } = connection;
  const [images, counts] = [table('images'), table('image_counts')];
  const search = createImageSearch(connection, searchOptions);

  return async (query) => {
    const { text = '', after, offset, limit } = query;
    if (text !== '') return search(query);
    const place = after ? [after.createdAt, after.id] : [];
    const found = await ask<ImageRecord & { total: number }>(
      'safe',
      `WITH p AS MATERIALIZED (
         SELECT id FROM ${images} WHERE ${LISTED} ${after ? `AND ${behind(3)}` : ''}
         ORDER BY created_at DESC, id LIMIT $1 OFFSET $2
       ), c AS (${publicTotal(counts)})
       SELECT c.total, ${RECORD} FROM c LEFT JOIN p ON true LEFT JOIN ${images} i ON i.id = p.id
       ORDER BY i.created_at DESC, i.id`,
      [limit + 1, offset, ...place],
    );
    const total = found[0]?.total ?? 0;
    const records = found.flatMap(({ total: _, ...record }) => (record.id === null ? [] : record));
    return { ...pageOf(records, limit), total, exact: true };
  };
}

/** Finds the image before one in the list. */
export function createNewer({ table, ask }: PostgresConnection): ImageStore['newer'] {
  const images = table('images');
  const text = `SELECT ${RECORD} FROM ${images} i
    WHERE ${LISTED} AND created_at >= $1 AND (created_at > $1 OR id < $2)
      AND EXISTS (SELECT 1 FROM ${images} WHERE id = $2 AND ${LISTED})
    ORDER BY created_at, id DESC LIMIT 1`;
  return async ({ createdAt, id }) => (await ask<ImageRecord>('safe', text, [createdAt, id]))[0] ?? null;
}
