import type { ProxyStore } from '../../src/proxy/store.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import type { ProxyReplica } from '../replicas.ts';
import { type Copy, openCopy } from './copy.ts';
import { createSqliteProxies } from './proxies.ts';
import { createFiller, createImporter } from './proxy-rows.ts';

/**
 * A private copy of a pool whose records are in another store. Before `complete`, nothing may be removed or queried, because applying then
 * takes a third of the time: there are no indexes, counts are not maintained, all is one transaction, and a failure makes the replica
 * useless.
 */
type SqliteProxyReplica = ProxyStore & ProxyReplica;

/** Fills the counts, from an index that has the rows in groups. */
const COUNT = `INSERT INTO proxy_counts
  SELECT status, protocol, country, count(*), count(ms), sum(CAST(ifnull(round(ms * 1000), 0) AS INTEGER))
  FROM (SELECT status, protocol, country, nullif(slowness, 9e999) AS ms FROM proxies INDEXED BY proxies_country)
  GROUP BY country, status, protocol`;

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
  const fill = createFiller(database);
  const remove = database.prepare('DELETE FROM proxies WHERE id = ?');
  database.prepare('BEGIN').run();
  let isComplete = false;

  return {
    ...store,

    apply(records, removed) {
      if (!isComplete) {
        fill(records);
        return;
      }
      database.transaction(() => {
        for (const id of removed) remove.run(id);
        for (const record of records) importOne(record);
      });
    },

    async complete() {
      database.prepare('COMMIT').run();
      // Created from all rows at once, the indexes take a sixth of the time.
      await database.runLong([...indexes.map(({ sql }) => sql), COUNT]);
      for (const { sql } of triggers) database.prepare(sql).run();
      database.prepare('PRAGMA journal_mode = MEMORY').all();
      isComplete = true;
    },

    close: async () => database.close(),
  };
}
