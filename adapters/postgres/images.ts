import { randomBytes, randomInt } from 'node:crypto';
import { AppError } from '../../src/errors.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { type ImageGroup, summarise } from '../../src/image/summary.ts';
import { batches, slices } from '../../src/lib/batches.ts';
import { arrayOf } from './arrays.ts';
import type { PostgresConnection } from './connection.ts';
import { createFences } from './fence.ts';
import { createImageCare } from './image-care.ts';
import { createImageEnds } from './image-ends.ts';
import { createImageList, createNewer } from './image-list.ts';
import { createImageRows, RECORD } from './image-rows.ts';

/** Ids in one statement. */
const BATCH = 5000;

/** Number of hashes read at once. */
const LOOKS = 10_000;

interface Look {
  id: string;
  phash: string | null;
}

/**
 * An `ImageStore` over Postgres. Each query is one statement, and no list or statistic reads all images. A write is
 * acknowledged when the server reports that it is committed; `synchronous_commit` and `synchronous_standby_names`
 * decide how durable that is. `list`: where lists and searches are answered, if not by the same server.
 */
export function createPostgresImages(
  connection: PostgresConnection,
  list: ImageStore['list'] = createImageList(connection),
): ImageStore {
  const { table, ask, transaction } = connection;
  const [images, counts] = [table('images'), table('image_counts')];
  const rows = createImageRows(connection);
  const checkFence = createFences(connection, 'images');
  const removeOne = rows.remove('id = $1', false);
  const removeIdle = rows.remove('id = $1 AND ends_at IS NULL AND last_access < $2', false);
  const select = (rest: string) => `SELECT ${RECORD} FROM ${images} i ${rest}`;

  async function idsOf(text: string, ids: readonly string[]): Promise<Set<string>> {
    const found = new Set<string>();
    for (const batch of slices(ids, BATCH)) {
      for (const { id } of await ask<{ id: string }>('safe', text, [arrayOf(batch)])) found.add(id);
    }
    return found;
  }

  return {
    ...createImageCare(connection, rows),
    ...createImageEnds(connection, rows),

    async insert(image) {
      const mark = randomBytes(6).toString('base64url');
      const { text, values } = rows.insert(image, mark, randomInt(0xffff));
      if ((await ask('safe', text, values)).length > 0) return;
      // It may be this very image, whose first answer was lost. The write makes sure that it is as durable as an
      // answered one.
      const again = `UPDATE ${images} SET mark = mark WHERE id = $1 AND mark = $2 RETURNING id`;
      if ((await ask('safe', again, [image.id, mark])).length > 0) return;
      throw new AppError('conflict', `Image ${image.id} already exists.`);
    },

    // The commit has waited for everything that the server was configured to wait for.
    confirm: async () => {},

    get: async (id) => (await ask<ImageRecord>('safe', select('WHERE i.id = $1'), [id]))[0] ?? null,

    newer: createNewer(connection),

    async getMany(ids) {
      const found = new Map<string, ImageRecord>();
      const text = select('WHERE i.id = ANY($1::text[])');
      for (const batch of slices(ids, BATCH)) {
        for (const image of await ask<ImageRecord>('safe', text, [arrayOf(batch)]))
          found.set(image.id, image);
      }
      return found;
    },

    list,

    async touch(accesses) {
      for (const batch of slices([...accesses], BATCH)) {
        await ask(
          'safe',
          `UPDATE ${images} i SET last_access = u.at FROM unnest($1::text[], $2::bigint[]) AS u (id, at)
           WHERE i.id = u.id AND i.last_access < u.at`,
          [arrayOf(batch.map(([id]) => id)), arrayOf(batch.map(([, at]) => at))],
        );
      }
    },

    remove: async (id) => (await ask('never', removeOne, [id])).length > 0,

    removeIdle: (id, before, fence) =>
      transaction('never', async (ask) => {
        await checkFence(ask, fence);
        return (await ask(removeIdle, [id, before])).length > 0;
      }),

    idleSince: (before, limit) =>
      ask<ImageRecord>(
        'safe',
        select('WHERE i.ends_at IS NULL AND i.last_access < $1 ORDER BY i.last_access, i.id LIMIT $2'),
        [before, limit],
      ),

    recent({ offset, limit, after }) {
      const behind = after ? 'WHERE (i.last_access, i.id) < ($3, $4)' : '';
      return ask<ImageRecord>(
        'safe',
        select(`${behind} ORDER BY i.last_access DESC, i.id DESC LIMIT $1 OFFSET $2`),
        [limit, offset, ...(after ? [after.lastAccess, after.id] : [])],
      );
    },

    async *looks() {
      const text = `SELECT id, phash FROM ${images} WHERE id > $1 ORDER BY id LIMIT ${LOOKS}`;
      const read = (last: Look | undefined) => ask<Look>('safe', text, [last?.id ?? '']);
      for await (const rows of batches(LOOKS, read)) {
        yield rows.flatMap(({ id, phash }): [string, string][] => (phash === null ? [] : [[id, phash]]));
      }
    },

    existing: (ids) => idsOf(`SELECT id FROM ${images} WHERE id = ANY($1::text[])`, ids),

    async summary() {
      const groups = await ask<ImageGroup>(
        'safe',
        `SELECT format, visibility, sum(count)::bigint AS count, sum(bytes)::bigint AS bytes
         FROM ${counts} GROUP BY format, visibility ORDER BY format`,
      );
      return summarise(groups);
    },

    // The index changes together with the images.
    prepare: async () => {},
    preparing: () => null,
  };
}
