import { rename, rm, stat } from 'node:fs/promises';
import { AppError } from '../../src/errors.ts';
import type { Runtime, SqliteDatabase } from '../../src/runtime/runtime.ts';
import { openDatabase } from './database.ts';
import { translate } from './errors.ts';
import { type Salvaged, salvage } from './salvage.ts';

/** Suffixes of a database and its additional files. */
const ENDS = ['', '-wal', '-shm'];

/**
 * Copies everything readable in a damaged database to a new one, which replaces it. The old file is kept beside it,
 * at `kept`. Rejects with `unavailable` if a server uses it, or if nothing can be read.
 */
export async function repairDatabase(
  openSqlite: Runtime['openSqlite'],
  path: string,
  now: Date,
): Promise<Salvaged & { kept: string }> {
  if (!(await stat(path).catch(() => null)))
    throw new AppError('unavailable', `There is no database ${path}.`);
  const source = await openAlone(openSqlite, path);
  const fresh = `${path}-repaired`;
  for (const end of ENDS) await rm(fresh + end, { force: true });
  const target = await openDatabase(openSqlite, fresh);
  let salvaged: Salvaged;
  try {
    salvaged = salvage(source, target);
  } finally {
    await target.close();
    source.close();
  }
  if (Object.values(salvaged.rows).every((count) => count === 0)) {
    for (const end of ENDS) await rm(fresh + end, { force: true });
    throw new AppError('unavailable', `Nothing in ${path} can be read. Restore a backup.`);
  }
  const kept = `${path}-damaged-${now.toISOString().replace(/[-:]|\..*/g, '')}`;
  for (const end of ENDS) {
    if (await stat(path + end).catch(() => null)) await rename(path + end, kept + end);
  }
  await rename(fresh, path);
  return { ...salvaged, kept };
}

/** Locks out all other processes meanwhile. */
async function openAlone(openSqlite: Runtime['openSqlite'], path: string): Promise<SqliteDatabase> {
  const database = await openSqlite(path);
  try {
    database.prepare('PRAGMA locking_mode = EXCLUSIVE').all();
    database.prepare('BEGIN EXCLUSIVE').run();
    database.prepare('ROLLBACK').run();
  } catch (error) {
    const fault = translate(error);
    if (fault instanceof AppError && /is (busy|locked)/.test(fault.message)) {
      database.close();
      throw new AppError('unavailable', `A server is using ${path}; stop it first.`);
    }
  }
  return database;
}
