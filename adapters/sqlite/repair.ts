import { copyFile, link, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { Runtime, SqliteDatabase, SqliteStatement } from '../../src/runtime/runtime.ts';
import { type Database, openDatabase } from './database.ts';
import { translate } from './errors.ts';
import { type Salvaged, salvage } from './salvage.ts';

/** Suffixes of a database and its additional files. */
const ENDS = ['', '-wal', '-shm'];

/**
 * Copies everything readable in a damaged database to a new one, which replaces it once it is on the disk. The old file
 * is kept beside it, at `kept`. At every moment there is a database under the name. Rejects with `unavailable` if a
 * server uses it, or if nothing can be read.
 */
export async function repairDatabase(
  openSqlite: Runtime['openSqlite'],
  name: string,
  now: Date,
): Promise<Salvaged & { kept: string }> {
  const path = await realpath(name).catch(() => null);
  if (path === null) throw new AppError('unavailable', inEnglish(`There is no database ${name}.`));
  const source = await openAlone(openSqlite, path);
  const fresh = `${path}-repaired`;
  for (const end of ENDS) await rm(fresh + end, { force: true });
  const target = await openDatabase(openSqlite, fresh);
  let salvaged: Salvaged;
  try {
    salvaged = salvage(source, target);
    intoOneFile(target);
  } finally {
    await target.close();
    source.close();
  }
  if (Object.values(salvaged.rows).every((count) => count === 0)) {
    for (const end of ENDS) await rm(fresh + end, { force: true });
    throw new AppError('unavailable', inEnglish(`Nothing in ${path} can be read. Restore a backup.`));
  }
  await sync(fresh);
  const kept = `${path}-damaged-${now.toISOString().replace(/[-:]|\..*/g, '')}`;
  for (const end of ['', '-wal']) {
    if (await stat(path + end).catch(() => null)) await alsoCall(path + end, kept + end);
  }
  await sync(dirname(path));
  // The old log must not be applied to the new file.
  for (const end of ENDS.slice(1)) await rm(path + end, { force: true });
  await sync(dirname(path));
  await rename(fresh, path);
  await sync(dirname(path));
  return { ...salvaged, kept };
}

/** Gives a file a second name; copies it if the file system has no links. */
async function alsoCall(path: string, other: string): Promise<void> {
  await link(path, other).catch(() => copyFile(path, other));
}

/** Moves everything from the log to the file itself, and removes the log. */
function intoOneFile(database: Database): void {
  const [row] = database.prepare<{ journal_mode: string }>('PRAGMA journal_mode = DELETE').all();
  if (row?.journal_mode === 'delete') return;
  throw new AppError('unavailable', inEnglish('The repaired database cannot be written to its file.'));
}

/** Resolves when the file, or the names in the folder, would survive a power failure. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Locks out all other processes meanwhile. */
async function openAlone(openSqlite: Runtime['openSqlite'], path: string): Promise<SqliteDatabase> {
  const database = closable(await openSqlite(path));
  try {
    database.prepare('PRAGMA locking_mode = EXCLUSIVE').all();
    database.prepare('BEGIN EXCLUSIVE').run();
    database.prepare('ROLLBACK').run();
  } catch (error) {
    const fault = translate(error);
    if (fault instanceof AppError && /is (busy|locked)/.test(fault.message)) {
      database.close();
      throw new AppError('unavailable', inEnglish(`A server is using ${path}; stop it first.`));
    }
  }
  return database;
}

/** Closes with all its statements, of which it keeps one for each SQL. */
function closable(driver: SqliteDatabase): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  return {
    exec: (sql) => driver.exec(sql),
    prepare(sql) {
      const statement = statements.get(sql) ?? driver.prepare(sql);
      statements.set(sql, statement);
      return statement;
    },
    close() {
      for (const statement of statements.values()) statement.finalize?.();
      driver.close();
    },
  };
}
