import { Database as BunDatabase } from 'bun:sqlite';
import { createSqliteAlbums } from '../../adapters/sqlite/albums.ts';
import { createSqliteAudit } from '../../adapters/sqlite/audit.ts';
import { type Database, openDatabase } from '../../adapters/sqlite/database.ts';
import { createLastToken } from '../../adapters/sqlite/fences.ts';
import { createSqliteImages } from '../../adapters/sqlite/images.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { SqliteDatabase, SqliteStatement, SqliteValue } from '../../src/runtime/runtime.ts';
import type { RecordsModel } from './records-model.ts';
import { trueTime } from './time.ts';

/** What the database calls the time. */
const CLOCK = `unixepoch('subsec') * 1000`;

/** Opens the adapter for SQLite over a database in memory, whose clock is that of the world. For one copy. */
export async function openSqliteRecords(): Promise<RecordsModel> {
  let file = new BunDatabase(':memory:');
  let stores = await storesIn(file);

  async function replace(other: BunDatabase): Promise<void> {
    file = other;
    stores = await storesIn(file);
  }

  return {
    get images() {
      return stores.images;
    },
    get albums() {
      return stores.albums;
    },
    get audit() {
      return stores.audit;
    },
    get state() {
      return stores.state;
    },
    locks() {
      throw new Error('a database of one copy has no locks for others');
    },
    lastToken: () => stores.lastToken(),
    // The adapter does so when it is opened.
    endViews: () => replace(file),
    backup() {
      const bytes = file.serialize();
      return () => replace(BunDatabase.deserialize(bytes));
    },
    clear: () => replace(new BunDatabase(':memory:')),
  };
}

async function storesIn(file: BunDatabase) {
  const database: Database = await openDatabase(async () => inWorldTime(file), ':memory:');
  return {
    images: createSqliteImages(database),
    albums: createSqliteAlbums(database),
    audit: createSqliteAudit(database),
    state: createSqliteState(database),
    lastToken: createLastToken(database),
  };
}

/** Returns the database with a clock that the world sets before each statement. */
function inWorldTime(file: BunDatabase): SqliteDatabase {
  file.exec(
    'CREATE TABLE IF NOT EXISTS world_clock (ms INTEGER); INSERT INTO world_clock SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM world_clock)',
  );
  const clock = file.prepare('UPDATE world_clock SET ms = ?');
  const translated = (sql: string) => sql.replaceAll(CLOCK, '(SELECT ms FROM world_clock)');
  // Triggers write the time as well.
  const isTimed = (sql: string) => sql.includes(CLOCK) || /^\s*(INSERT|UPDATE|DELETE|WITH)/i.test(sql);
  return {
    exec(sql) {
      clock.run(trueTime());
      file.exec(translated(sql));
    },
    prepare(sql) {
      const statement = file.prepare(translated(sql)) as unknown as SqliteStatement;
      const run =
        (method: 'get' | 'all' | 'run') =>
        (...values: SqliteValue[]) => {
          if (isTimed(sql)) clock.run(trueTime());
          return statement[method](...values) as never;
        };
      return { get: run('get'), all: run('all'), run: run('run') };
    },
    // Another one may be opened over the same file.
    close() {},
  };
}
