import { AppError, message } from '../../src/errors.ts';
import { ALBUM_FIELDS, type AlbumRecord, type AlbumStore } from '../../src/image/albums/album.ts';
import { batches } from '../../src/lib/batches.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import type { PostgresConnection } from './connection.ts';

const FIELDS = ['id', ...namesOf(ALBUM_FIELDS)] as const;
const RECORD = FIELDS.map((field) => `${columnOf(field)} AS "${field}"`).join(', ');

/** Some megabytes at most. */
const BATCH = 200;

/** An `AlbumStore` in one table. */
export function createPostgresAlbums({ table, ask }: PostgresConnection): AlbumStore {
  const albums = table('albums');
  const columns = FIELDS.map(columnOf).join(', ');
  const places = FIELDS.map((_, place) => `$${place + 1}`).join(', ');
  const valuesOf = (album: AlbumRecord) => FIELDS.map((field) => album[field]);
  const select = (rest: string) => `SELECT ${RECORD} FROM ${albums} ${rest}`;

  return {
    async insert(album) {
      // If the first answer was lost, the album exists with exactly this hash of its token.
      const text = `INSERT INTO ${albums} AS a (${columns}) VALUES (${places})
        ON CONFLICT (id) DO UPDATE SET id = excluded.id WHERE a.token_hash = excluded.token_hash RETURNING id`;
      if ((await ask('safe', text, valuesOf(album))).length > 0) return;
      throw new AppError('conflict', message('Album {id} already exists.', { id: album.id }));
    },

    get: async (id) => (await ask<AlbumRecord>('safe', select('WHERE id = $1'), [id]))[0] ?? null,

    async replace(album) {
      const text = `UPDATE ${albums} SET (${columns}) = (${places}) WHERE id = $1 AND revision = $${FIELDS.length + 1}
        RETURNING id`;
      return (await ask('safe', text, [...valuesOf(album), album.revision - 1])).length > 0;
    },

    async remove(id, revision) {
      const text = `DELETE FROM ${albums} WHERE id = $1 AND revision = coalesce($2::bigint, revision) RETURNING id`;
      return (await ask('safe', text, [id, revision ?? null])).length > 0;
    },

    dueBy: (time, limit) =>
      ask<AlbumRecord>('safe', select('WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2'), [time, limit]),

    all: () => {
      const text = select(`WHERE id > $1 ORDER BY id LIMIT ${BATCH}`);
      return batches<AlbumRecord>(BATCH, (last) => ask('safe', text, [last?.id ?? '']));
    },
  };
}
