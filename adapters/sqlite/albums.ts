import { AppError, message } from '../../src/errors.ts';
import { ALBUM_FIELDS, type AlbumRecord, type AlbumStore } from '../../src/image/albums/album.ts';
import { batches } from '../../src/lib/batches.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import type { Database } from './database.ts';

const FIELDS = ['id', ...namesOf(ALBUM_FIELDS)] as const;
const RECORD = FIELDS.map((field) => `${columnOf(field)} AS ${field}`).join(', ');

/** Some megabytes at most. */
const BATCH = 200;

/** An `AlbumStore` over one table. Changes are durable, because tokens have been handed out. */
export function createSqliteAlbums(database: Database): AlbumStore {
  const byId = database.prepare<AlbumRecord>(`SELECT ${RECORD} FROM albums WHERE id = ?`);
  const insert = database.prepare<{ id: string }>(
    `INSERT INTO albums (${FIELDS.map(columnOf)}) VALUES (${FIELDS.map(() => '?')})
     ON CONFLICT DO NOTHING RETURNING id`,
  );
  const replace = database.prepare<{ id: string }>(
    `UPDATE albums SET (${FIELDS.map(columnOf)}) = (${FIELDS.map(() => '?')})
     WHERE id = ? AND revision = ? RETURNING id`,
  );
  const remove = database.prepare<{ id: string }>(
    'DELETE FROM albums WHERE id = ? AND revision = ifnull(?, revision) RETURNING id',
  );
  const due = database.prepare<AlbumRecord>(
    `SELECT ${RECORD} FROM albums WHERE due_at <= ? ORDER BY due_at, id LIMIT ?`,
  );
  const next = database.prepare<AlbumRecord>(
    `SELECT ${RECORD} FROM albums WHERE id > ? ORDER BY id LIMIT ${BATCH}`,
  );
  const valuesOf = (album: AlbumRecord) => FIELDS.map((field) => album[field]);

  async function written(work: () => { id: string }[]): Promise<boolean> {
    const done = database.transaction(work).length > 0;
    if (done) await database.onDisk();
    return done;
  }

  return {
    async insert(album) {
      if (await written(() => insert.all(...valuesOf(album)))) return;
      throw new AppError('conflict', message('Album {id} already exists.', { id: album.id }));
    },

    get: async (id) => byId.get(id),

    replace: (album) => written(() => replace.all(...valuesOf(album), album.id, album.revision - 1)),

    async remove(id, revision) {
      const done = database.freeing(() => remove.all(id, revision ?? null)).length > 0;
      if (done) await database.onDisk();
      return done;
    },

    dueBy: async (time, limit) => due.all(time, limit),

    all: () => batches<AlbumRecord>(BATCH, async (last) => next.all(last?.id ?? '')),
  };
}
