import { setImmediate } from 'node:timers/promises';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { type Copy, openCopy } from './copy.ts';
import { createSqliteProxies } from './proxies.ts';
import { createFiller, createImporter } from './proxy-rows.ts';

/** A private copy of a pool whose records are in another store. */
export interface SqliteProxyReplica extends ProxyStore {
  /** Applies records and removals in one transaction, keeping the IDs. */
  apply(records: readonly ProxyRecord[], removed: readonly number[]): void;
  /**
   * Must be called once, after the first records. Before it, nothing may be removed or queried, because applying then
   * takes a third of the time: there are no indexes, counts are not maintained, and a failure makes the replica
   * useless.
   */
  complete(): Promise<void>;
}

/** IDs counted before other work gets its turn, which takes about 10 ms. */
const COUNTED = 5000;

/** Opens an empty replica in the folder, which creates its indexes in a thread if the runtime has one. */
export async function openProxyReplica(
  { openSqlite, openSqliteThread }: Pick<Runtime, 'openSqlite' | 'openSqliteThread'>,
  folder: string,
): Promise<SqliteProxyReplica> {
  return createProxyReplica(await openCopy(openSqlite, folder, openSqliteThread));
}

/** Turns an empty database into a replica. It answers exactly like the store over SQLite, because it is one. */
export function createProxyReplica(database: Copy): SqliteProxyReplica {
  const store = createSqliteProxies(database);
  const partsOf = database.prepare<{ name: string; sql: string }>(
    `SELECT name, sql FROM sqlite_schema WHERE type = ? AND tbl_name = 'proxies' AND sql IS NOT NULL`,
  );
  const [triggers, indexes] = [partsOf.all('trigger'), partsOf.all('index')];
  for (const { name } of triggers) database.prepare(`DROP TRIGGER ${name}`).run();
  for (const { name } of indexes) database.prepare(`DROP INDEX ${name}`).run();
  database.prepare('PRAGMA journal_mode = OFF').all();
  const importOne = createImporter(database);
  const filler = createFiller(database);
  const remove = database.prepare('DELETE FROM proxies WHERE id = ?');
  const largest = database.prepare<{ id: number }>('SELECT ifnull(max(id), 0) AS id FROM proxies');
  const count = database.prepare(
    `INSERT INTO proxy_counts SELECT status, protocol, country, count(*), count(response_ms),
       sum(CAST(ifnull(round(response_ms * 1000), 0) AS INTEGER))
     FROM proxies NOT INDEXED WHERE id > ? AND id <= ? GROUP BY status, protocol, country
     ON CONFLICT DO UPDATE SET count = count + excluded.count, timed = timed + excluded.timed,
       total_us = total_us + excluded.total_us`,
  );
  let isComplete = false;

  return {
    ...store,

    apply(records, removed) {
      database.transaction(() => {
        for (const id of removed) remove.run(id);
        if (isComplete) for (const record of records) importOne(record);
        else filler.add(records);
      });
    },

    async complete() {
      // Created from all rows at once, the indexes take a sixth of the time.
      await database.runLong([...filler.sort, ...indexes.map(({ sql }) => sql)]);
      const last = largest.get()?.id ?? 0;
      for (let id = 0; id < last; id += COUNTED) {
        count.run(id, id + COUNTED);
        await setImmediate();
      }
      for (const { sql } of triggers) database.prepare(sql).run();
      database.prepare('PRAGMA journal_mode = MEMORY').all();
      isComplete = true;
    },
  };
}
