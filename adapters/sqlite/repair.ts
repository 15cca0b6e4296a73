import { copyFile, link, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import type { Repaired } from '../adapter.ts';
import { type Database, openDatabase, wrap } from './database.ts';

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
): Promise<Repaired> {
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
    await source.close();
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
async function openAlone(openSqlite: Runtime['openSqlite'], path: string): Promise<Database> {
  const database = wrap(await openSqlite(path));
  try {
    database.prepare('PRAGMA locking_mode = EXCLUSIVE').all();
    database.prepare('BEGIN EXCLUSIVE').run();
    database.prepare('ROLLBACK').run();
  } catch (fault) {
    if (fault instanceof AppError && /is (busy|locked)/.test(fault.message)) {
      await database.close();
      throw new AppError('unavailable', inEnglish(`A server is using ${path}; stop it first.`));
    }
  }
  return database;
}

/** Rows read at once if nothing is damaged. */
const BATCH = 500;
/** How often a gap is halved before it is given up, which tries 1,024 places. */
const MOST_FRUITLESS = 10;

/** Tables that cannot be rebuilt from others, with their order. Images come before their tombstones. */
const TABLES = [
  { name: 'state', key: 'key', least: '' },
  { name: 'images', key: 'pos', least: Number.MIN_SAFE_INTEGER },
  { name: 'albums', key: 'id', least: '' },
  { name: 'audit', key: 'id', least: '' },
  { name: 'tombstones', key: 'id', least: '' },
  { name: 'image_ends', key: 'id', least: '' },
  { name: 'proxies', key: 'id', least: Number.MIN_SAFE_INTEGER },
] as const;

type Table = (typeof TABLES)[number];
type Key = string | number;
type Row = Record<string, Key | null>;

/** The readable contents of a damaged database, by table. */
type Salvaged = Omit<Repaired, 'kept'>;

/** Copies all readable rows of a damaged database to an empty one. */
function salvage(source: Database, target: Database): Salvaged {
  const salvaged: Salvaged = { rows: {}, torn: [] };
  for (const table of TABLES) {
    const columns = commonColumns(source, target, table.name);
    salvaged.rows[table.name] = 0;
    if (columns.length === 0) {
      salvaged.torn.push(table.name);
      continue;
    }
    const insert = target.prepare(
      `INSERT OR IGNORE INTO ${table.name} (${columns}) VALUES (${columns.map(() => '?')})`,
    );
    let count = 0;
    const isWhole = readAll(source, table, columns, (rows) => {
      target.transaction(() => {
        for (const row of rows) insert.run(...columns.map((column) => row[column] ?? null));
      });
      count += rows.length;
    });
    salvaged.rows[table.name] = count;
    if (!isWhole) salvaged.torn.push(table.name);
  }
  // The search index is rebuilt in the background.
  target.prepare('UPDATE image_index SET below = (SELECT ifnull(max(pos) + 1, 0) FROM images)').run();
  return salvaged;
}

/** Returns none if the schema cannot be read. */
function commonColumns(source: Database, target: Database, table: string): string[] {
  const sql = `SELECT name FROM pragma_table_info('${table}')`;
  const columnsOf = (database: Database) =>
    database
      .prepare<{ name: string }>(sql)
      .all()
      .map(({ name }) => name);
  const known = columnsOf(target);
  try {
    return columnsOf(source).filter((name) => known.includes(name));
  } catch {
    return [];
  }
}

/** Returns all readable rows; false if there may be more. */
function readAll(
  source: Database,
  { name, key, least }: Table,
  columns: readonly string[],
  take: (rows: Row[]) => void,
): boolean {
  const select = (condition: string, order: string) =>
    `SELECT ${columns} FROM ${name} WHERE ${condition} ORDER BY ${key} ${order} LIMIT ?`;
  const upwards = select(`${key} > ? AND ${key} < ?`, 'ASC');
  const downwards = select(`${key} < ? AND ${key} > ?`, 'DESC');

  /**
   * Reads rows between two keys in one direction as far as possible. Returns the last key, and whether that is all.
   */
  function walk(from: Key, to: Key, isUpwards: boolean): { last: Key; isEnd: boolean } {
    let last = from;
    for (let limit = BATCH; ; ) {
      let rows: Row[];
      try {
        rows = source.prepare<Row>(isUpwards ? upwards : downwards).all(last, to, limit);
      } catch {
        if (limit === 1) return { last, isEnd: false };
        limit = 1;
        continue;
      }
      take(rows);
      const end = rows.at(-1)?.[key];
      if (rows.length < limit || end === undefined || end === null) return { last, isEnd: true };
      last = end;
    }
  }

  /**
   * Bisects numeric keys, because rows after a damaged page may be readable. `fruitless`: bisections without a row.
   */
  function between(low: Key, high: Key, fruitless: number): boolean {
    const up = walk(low, high, true);
    if (up.isEnd) return true;
    const down = walk(high, up.last, false);
    const [bottom, ceiling] = [up.last, down.last];
    if (down.isEnd || typeof bottom !== 'number' || typeof ceiling !== 'number') return false;
    const more = bottom === low && ceiling === high ? fruitless + 1 : 0;
    if (ceiling - bottom <= 2 || more > MOST_FRUITLESS) return false;
    const middle = Math.floor(bottom / 2 + ceiling / 2);
    between(bottom, middle + 1, more);
    between(middle, ceiling, more);
    return false;
  }

  return (
    columns.length > 0 &&
    between(least, typeof least === 'number' ? Number.MAX_SAFE_INTEGER : '\u{10ffff}', 0)
  );
}
