import { slices } from '../../src/lib/batches.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import { SKEW_MS } from '../../src/lib/stored-time.ts';
import { PROXY_FIELDS } from '../../src/proxy/fields.ts';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyDraft } from '../../src/proxy/store.ts';
import type { SqliteValue } from '../../src/runtime/runtime.ts';
import type { Database } from './database.ts';

type Field = keyof ProxyDraft;

const FIELDS = namesOf(PROXY_FIELDS);
const ENDPOINT: readonly Field[] = ['protocol', 'ip', 'port'];

/** Indexed fields that most checks do not change: another failure of a dead proxy changes none. */
const RARE: readonly Field[] = [
  'country',
  'source',
  'status',
  'responseMs',
  'anonymity',
  'firstSeen',
  'lastAlive',
  'uptime',
];
const REPLACED = FIELDS.filter((field) => !ENDPOINT.includes(field));
const OFTEN = REPLACED.filter((field) => !RARE.includes(field));

/** Columns that make a row a `ProxyRecord`. */
export const RECORD = `p.id, ${selectList(FIELDS)}`;

/**
 * Creates a function that inserts or replaces one draft by its endpoint, and returns its ID. With `keepNewer`, a
 * record that was checked later, but not in the future, stays unchanged. Call it in a transaction.
 */
export function createSaver(
  database: Database,
  { keepNewer, now = Date.now }: { keepNewer: boolean; now?: () => number },
): (draft: ProxyDraft) => number {
  const find = database.prepare<ProxyRecord>(
    `SELECT p.id, p.last_checked AS lastChecked, ${selectList(RARE)} FROM proxies p WHERE ip = ? AND port = ? AND protocol = ?`,
  );
  const insert = database.prepare<{ id: number }>(
    `INSERT INTO proxies (${FIELDS.map(columnOf).join(', ')})
     VALUES (${FIELDS.map(() => '?').join(', ')}) RETURNING id`,
  );
  const replace = database.prepare(`UPDATE proxies SET ${assignments(REPLACED)} WHERE id = ?`);
  const note = database.prepare(`UPDATE proxies SET ${assignments(OFTEN)} WHERE id = ?`);

  return (draft) => {
    const known = find.get(draft.ip, draft.port, draft.protocol);
    if (!known) return insert.get(...values(draft, FIELDS))?.id ?? 0;
    if (keepNewer && known.lastChecked > draft.lastChecked && known.lastChecked <= now() + SKEW_MS) {
      return known.id;
    }
    if (RARE.every((field) => known[field] === draft[field])) note.run(...values(draft, OFTEN), known.id);
    else replace.run(...values(draft, REPLACED), known.id);
    return known.id;
  };
}

/**
 * Creates a function that imports a record of another store with its ID, replacing any record with its endpoint. Call
 * it in a transaction.
 */
export function createImporter(database: Database): (record: ProxyRecord) => void {
  const saveOne = createSaver(database, { keepNewer: false });
  const find = database.prepare<{ id: number }>(
    'SELECT id FROM proxies WHERE ip = ? AND port = ? AND protocol = ?',
  );
  const remove = database.prepare('DELETE FROM proxies WHERE id = ?');
  const insert = database.prepare(
    `INSERT INTO proxies (id, ${FIELDS.map(columnOf).join(', ')})
     VALUES (?, ${FIELDS.map(() => '?').join(', ')})`,
  );
  return (record) => {
    const known = find.get(record.ip, record.port, record.protocol);
    if (known?.id === record.id) {
      saveOne(record);
      return;
    }
    if (known) remove.run(known.id);
    insert.run(...rowsOf([record]));
  };
}

/** Rows of one statement: half of the time of an insertion is spent running it. */
const FILLED = 20;

/**
 * Creates a function that inserts records of another store with their IDs, replacing those with the same ID or
 * endpoint. In the order of their IDs they fill one page after another; unsorted, each would touch a different page.
 */
export function createFiller(database: Database): (records: readonly ProxyRecord[]) => void {
  const columns = ['id', ...FIELDS.map(columnOf)];
  const places = `(${columns.map(() => '?').join(', ')})`;
  const insert = (rows: number) =>
    database.prepare(
      `INSERT OR REPLACE INTO proxies (${columns.join(', ')}) VALUES ${Array(rows).fill(places).join(', ')}`,
    );
  const [one, many] = [insert(1), insert(FILLED)];

  return (records) => {
    for (const some of slices(records, FILLED)) {
      if (some.length === FILLED) many.run(...rowsOf(some));
      else for (const record of some) one.run(...rowsOf([record]));
    }
  };
}

function selectList(fields: readonly Field[]): string {
  return fields.map((field) => `p.${columnOf(field)} AS ${field}`).join(', ');
}

function assignments(fields: readonly Field[]): string {
  return fields.map((field) => `${columnOf(field)} = ?`).join(', ');
}

/** Returns IDs and fields as one array. `flatMap` would take four times as long. */
function rowsOf(records: readonly ProxyRecord[]): SqliteValue[] {
  const row: SqliteValue[] = [];
  for (const record of records) {
    row.push(record.id);
    for (const field of FIELDS) row.push(record[field]);
  }
  return row;
}

function values(draft: ProxyDraft, fields: readonly Field[]): SqliteValue[] {
  return fields.map((field) => draft[field]);
}
