import type { ImageRecord } from '../../src/image/image.ts';
import { END_REMEMBERED_MS, type ImageStore } from '../../src/image/store.ts';
import type { Ask, PostgresConnection } from './connection.ts';
import { type ImageRows, RECORD } from './image-rows.ts';

type Ends = Pick<ImageStore, 'change' | 'takeView' | 'endView' | 'endedBy' | 'removeEnded' | 'hasEnded'>;

/** The time in ms, limited to the server's own: a clock that is ahead must not expire anything early. */
const atMost = (place: string) => `least(${place}::bigint, floor(extract(epoch FROM now()) * 1000)::bigint)`;

/** Changes of images over Postgres, their views and their expiry. */
export function createImageEnds(connection: PostgresConnection, rows: ImageRows): Ends {
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
