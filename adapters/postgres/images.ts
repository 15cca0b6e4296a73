import { randomBytes, randomInt } from 'node:crypto';
import { AppError, message } from '../../src/errors.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { type ImageGroup, summarise } from '../../src/image/records/summary.ts';
import { END_REMEMBERED_MS, type ImageStore } from '../../src/image/store.ts';
import { batches, slices } from '../../src/lib/batches.ts';
import { type Ask, arrayOf, type PostgresConnection } from './connection.ts';
import { createImageList, createNewer } from './image-list.ts';
import { createImageRepair } from './image-repair.ts';
import { createImageRows, type ImageRows, RECORD } from './image-rows.ts';
import { createFences } from './locks.ts';

/** Accesses in one statement. */
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

  return {
    ...createImageRepair(connection, rows),
    ...createImageExpiry(connection, rows),

    async insert(image) {
      const mark = randomBytes(6).toString('base64url');
      const { text, values } = rows.insert(image, mark, randomInt(0xffff));
      if ((await ask('safe', text, values)).length > 0) return;
      // It may be this very image, whose first answer was lost. The write makes sure that it is as durable as an
      // answered one.
      const again = `UPDATE ${images} SET mark = mark WHERE id = $1 AND mark = $2 RETURNING id`;
      if ((await ask('safe', again, [image.id, mark])).length > 0) return;
      throw new AppError('conflict', message('Image {id} already exists.', { id: image.id }));
    },

    get: async (id) => (await ask<ImageRecord>('safe', select('WHERE i.id = $1'), [id]))[0] ?? null,

    newer: createNewer(connection),

    async getMany(ids) {
      const text = select('WHERE i.id = ANY($1::text[])');
      const found = await ask<ImageRecord>('safe', text, [arrayOf(ids)]);
      return new Map(found.map((image) => [image.id, image]));
    },

    list,

    async touch(accesses) {
      for (const batch of slices([...accesses], BATCH)) {
        await ask(
          'safe',
          // Another copy may note the same views: all lock them in one order.
          `WITH later AS (
             SELECT i.id, u.at FROM ${images} i JOIN unnest($1::text[], $2::bigint[]) AS u (id, at) ON u.id = i.id
             WHERE i.last_access < u.at ORDER BY i.id FOR UPDATE OF i
           ) UPDATE ${images} i SET last_access = later.at FROM later WHERE i.id = later.id`,
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

    async existing(ids) {
      const text = `SELECT id FROM ${images} WHERE id = ANY($1::text[])`;
      return new Set((await ask<{ id: string }>('safe', text, [arrayOf(ids)])).map(({ id }) => id));
    },

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

type Expiry = Pick<ImageStore, 'change' | 'takeView' | 'endView' | 'endedBy' | 'removeEnded' | 'hasEnded'>;

/** The time in ms, limited to the server's own: a clock that is ahead must not expire anything early. */
const atMost = (place: string) => `least(${place}::bigint, floor(extract(epoch FROM now()) * 1000)::bigint)`;

/** Changes of images over Postgres, their views and their expiry. */
function createImageExpiry(connection: PostgresConnection, rows: ImageRows): Expiry {
  const { table, ask, transaction } = connection;
  const [images, views, tombstones] = [table('images'), table('image_views'), table('tombstones')];
  const lock = `SELECT ${RECORD} FROM ${images} i WHERE i.id = $1 FOR UPDATE`;
  const isOpen = `SELECT token FROM ${views} WHERE id = $1 AND token = $2`;
  const take = `WITH taken AS (
      UPDATE ${images} SET views_left = views_left - 1,
        ends_at = CASE WHEN views_left = 1 THEN least(expires_at, $3::bigint) ELSE ends_at END
      WHERE id = $1 AND views_left > 0 RETURNING id
    ) INSERT INTO ${views} (id, token) SELECT id, $2 FROM taken RETURNING token`;
  const giveBack = `UPDATE ${images} SET views_left = views_left + 1, ends_at = expires_at WHERE id = $1`;
  const ended = `SELECT id FROM ${tombstones} WHERE id = $1 AND ended
    AND at > now() - ${END_REMEMBERED_MS}::double precision * interval '1 millisecond'`;
  const removeSeen = rows.remove(
    `id = $1 AND views_left = 0 AND NOT EXISTS (SELECT FROM ${views} v WHERE v.id = $1)`,
    true,
  );
  const removeEnded = rows.remove(`id = $1 AND ends_at <= ${atMost('$2')}`, true);
  const hasEnded = async (ask: Ask, id: string) => (await ask(ended, [id])).length > 0;

  return {
    change: (id, change) =>
      transaction('safe', async (ask) => {
        const [before] = await ask<ImageRecord>(lock, [id]);
        if (!before) return null;
        const image = { ...before, ...change };
        for (const { text, values } of rows.change(before, image)) await ask(text, values);
        return image;
      }),

    takeView: (id, token, until) =>
      transaction('safe', async (ask) => {
        await ask(lock, [id]);
        if ((await ask(isOpen, [id, token])).length > 0) return true;
        return (await ask(take, [id, token, until])).length > 0;
      }),

    endView: (id, token, seen) =>
      transaction('safe', async (ask) => {
        await ask(lock, [id]);
        const closed = await ask(`DELETE FROM ${views} WHERE id = $1 AND token = $2 RETURNING token`, [
          id,
          token,
        ]);
        // Already ended: the first answer was lost, and this is a repetition.
        if (closed.length === 0) return hasEnded(ask, id);
        if (seen) return (await ask(removeSeen, [id])).length > 0;
        await ask(giveBack, [id]);
        return false;
      }),

    endedBy: (time, limit) =>
      ask<ImageRecord>(
        'safe',
        `SELECT ${RECORD} FROM ${images} i WHERE i.ends_at <= ${atMost('$1')}
         ORDER BY i.ends_at, i.last_access, i.id LIMIT $2`,
        [time, limit],
      ),

    removeEnded: async (id, time) => (await ask('never', removeEnded, [id, time])).length > 0,

    hasEnded: (id) => hasEnded((text, values) => ask('safe', text, values), id),
  };
}
