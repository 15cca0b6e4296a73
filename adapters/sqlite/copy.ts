import { randomUUID } from 'node:crypto';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Runtime, SqliteValue } from '../../src/runtime/runtime.ts';
import { createAside } from './aside.ts';
import { type Database, openFile, READ_ASIDE_SETTINGS, SETTINGS, wrap } from './database.ts';
import { migrate } from './migrate.ts';
import { migrations } from './schema.ts';

/** A database for a copy of another store's data. */
export interface Copy extends Database {
  /** Runs slow statements without blocking other work. The database must not be used meanwhile. */
  runLong(statements: readonly string[]): Promise<void>;
}

/** A copy is on the disk, and the system caches it as long as there is memory. */
const COPY_SETTINGS = ['synchronous = OFF', 'foreign_keys = OFF', 'cache_size = -8192'];

/** For a copy with a single connection. */
const SOLE_SETTINGS = ['locking_mode = EXCLUSIVE', 'journal_mode = MEMORY'];

/** For a copy that a thread reads while it is written. */
const SHARED_SETTINGS = ['journal_mode = WAL'];

/** For the additional connection that runs slow statements. */
const WRITE_ASIDE_SETTINGS = [
  'journal_mode = OFF',
  'synchronous = OFF',
  'temp_store = MEMORY',
  'cache_size = -8192',
];

/**
 * Opens an empty database for a copy of another store's data, in an unnamed file in the folder that disappears with
 * the process. Nothing has to survive a crash, so nothing is synced. With `openThread`, which needs a path, the file
 * keeps its name until `runLong` was called; see `openSearchedCopy` for a copy that is read in a thread.
 * @throws {AppError} `unavailable` if it cannot be opened.
 */
export async function openCopy(
  openSqlite: Runtime['openSqlite'],
  folder: string,
  openThread?: Runtime['openSqliteThread'],
): Promise<Copy> {
  const { path, own } = await openEmpty(openSqlite, folder, SOLE_SETTINGS);
  /** The lock changes with the next access to the file. */
  const lock = (mode: string) => {
    own.prepare(`PRAGMA locking_mode = ${mode}`).all();
    own.prepare('SELECT name FROM sqlite_schema LIMIT 1').all();
  };
  const copy: Copy = {
    ...own,
    async close() {
      await own.close();
      await hide(path);
    },
    async runLong(statements) {
      if (!openThread) {
        for (const sql of statements) own.prepare(sql).run();
        return;
      }
      lock('NORMAL');
      const aside = createAside(openThread, path, WRITE_ASIDE_SETTINGS);
      try {
        for (const sql of statements) await aside.all(sql);
      } finally {
        await aside.close();
      }
      lock('EXCLUSIVE');
      await hide(path);
    },
  };
  if (!openThread) await hide(path);
  return copy;
}

/**
 * Opens a copy like `openCopy`, whose `readAside` runs in a separate thread. The file loses its name once the thread
 * has opened it, so a thread that ends is not replaced: the connection itself answers from then on.
 * @throws {AppError} `unavailable` if it cannot be opened.
 */
export async function openSearchedCopy(
  openSqlite: Runtime['openSqlite'],
  folder: string,
  openThread: Runtime['openSqliteThread'],
): Promise<Database> {
  if (!openThread) return openCopy(openSqlite, folder);
  const { path, own } = await openEmpty(openSqlite, folder, SHARED_SETTINGS);
  let threads = 0;
  // Another one would not find the file, and would create an empty one.
  const openFirst = (name: string) => {
    if (threads++ > 0) throw new Error('The thread of a copy has ended.');
    return openThread(name);
  };
  const aside = createAside(openFirst, path, READ_ASIDE_SETTINGS);
  const copy: Database = {
    ...own,
    readAside: <Row>(sql: string, ...values: SqliteValue[]) =>
      aside.all<Row>(sql, ...values).catch(() => own.readAside<Row>(sql, ...values)),
    async close() {
      await aside.close();
      await own.close();
    },
  };
  try {
    await aside.all('SELECT name FROM sqlite_schema LIMIT 1');
  } catch (error) {
    await copy.close();
    throw error;
  } finally {
    await hide(path);
  }
  return copy;
}

async function openEmpty(openSqlite: Runtime['openSqlite'], folder: string, settings: readonly string[]) {
  const path = join(folder, `copy-${randomUUID()}.db`);
  const own = wrap(await openFile(openSqlite, path));
  try {
    for (const setting of [...SETTINGS, ...COPY_SETTINGS, ...settings])
      own.prepare(`PRAGMA ${setting}`).all();
    migrate(own, migrations);
    return { path, own };
  } catch (error) {
    await own.close();
    await hide(path);
    throw error;
  }
}

/** Removes the names of an open database. If the system does not allow that, the sweep removes the files after an hour. */
async function hide(path: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await unlink(path + end).catch(() => {});
}
