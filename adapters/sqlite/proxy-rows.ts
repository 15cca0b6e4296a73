import { columnOf, namesOf } from '../../src/lib/fields.ts';
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

/** What to select so that a row is a `ProxyRecord`. */
export const RECORD = `p.id, ${selectList(FIELDS)}`;

/**
 * A function that inserts or replaces one draft by its endpoint and answers its id. With `keepNewer` a record that was
 * checked later stays as it is. To be called in a transaction.
 */
export function createSaver(
  database: Database,
  { keepNewer }: { keepNewer: boolean },
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
    if (keepNewer && known.lastChecked > draft.lastChecked) return known.id;
    if (RARE.every((field) => known[field] === draft[field])) note.run(...values(draft, OFTEN), known.id);
    else replace.run(...values(draft, REPLACED), known.id);
    return known.id;
  };
}

/**
 * A function that takes over a record of another store with the id it has there; what stood under its endpoint is
 * replaced. To be called in a transaction.
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
    insert.run(...rowOf(record));
  };
}

/** Rows of one statement: half of the time of an insertion goes into running it. */
const FILLED = 20;

/** Fills the table of proxies with many records that come in no order. */
export interface Filler {
  /** Notes records as they are. */
  add(records: readonly ProxyRecord[]): void;
  /**
   * Statements, for a long run, that bring all noted records into the table, the last of those with one id or one endpoint. In
   * the order of their ids they fill one page after the other; as they come, each touches its own page.
   */
  readonly sort: readonly string[];
}

/** Makes its own table for what is noted. */
export function createFiller(database: Database): Filler {
  const columns = ['id', ...FIELDS.map(columnOf)].join(', ');
  database.prepare(`CREATE TABLE arrived AS SELECT ${columns} FROM proxies WHERE false`).run();
  const places = `(?, ${FIELDS.map(() => '?').join(', ')})`;
  const insert = (rows: number) =>
    database.prepare(
      `INSERT INTO arrived (${columns})
       VALUES ${Array(rows).fill(places).join(', ')}`,
    );
  const [one, many] = [insert(1), insert(FILLED)];

  return {
    sort: [
      `INSERT OR REPLACE INTO proxies (${columns}) SELECT ${columns} FROM arrived ORDER BY id, rowid`,
      'DROP TABLE arrived',
    ],
    add(records) {
      const whole = records.length - (records.length % FILLED);
      for (let first = 0; first < whole; first += FILLED) {
        many.run(...records.slice(first, first + FILLED).flatMap(rowOf));
      }
      for (const record of records.slice(whole)) one.run(...rowOf(record));
    },
  };
}

function selectList(fields: readonly Field[]): string {
  return fields.map((field) => `p.${columnOf(field)} AS ${field}`).join(', ');
}

function assignments(fields: readonly Field[]): string {
  return fields.map((field) => `${columnOf(field)} = ?`).join(', ');
}

function rowOf(record: ProxyRecord): SqliteValue[] {
  return [record.id, ...values(record, FIELDS)];
}

function values(draft: ProxyDraft, fields: readonly Field[]): SqliteValue[] {
  return fields.map((field) => draft[field]);
}
