import type { SqliteDatabase } from '../../src/runtime/runtime.ts';
import type { Database } from './database.ts';

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

/** The readable contents of a damaged database. */
export interface Salvaged {
  /** Rows by table. */
  rows: Record<string, number>;
  /** Tables of which some or all rows could not be read. */
  torn: string[];
}

/** Copies all readable rows of a damaged database to an empty one. */
export function salvage(source: SqliteDatabase, target: Database): Salvaged {
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
function commonColumns(source: SqliteDatabase, target: Database, table: string): string[] {
  const sql = `SELECT name FROM pragma_table_info('${table}')`;
  const known = new Set(
    target
      .prepare<{ name: string }>(sql)
      .all()
      .map(({ name }) => name),
  );
  try {
    const found = source.prepare(sql).all() as { name: string }[];
    return found.map(({ name }) => name).filter((name) => known.has(name));
  } catch {
    return [];
  }
}

/** Returns all readable rows; false if there may be more. */
function readAll(
  source: SqliteDatabase,
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
        rows = source.prepare(isUpwards ? upwards : downwards).all(last, to, limit) as Row[];
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
