import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { openDatabase } from './database.ts';
import { createSqliteProxies } from './proxies.ts';
import { createImporter } from './proxy-rows.ts';

/** A private copy, in memory, of a pool whose records another store holds. */
export interface SqliteProxyReplica extends ProxyStore {
  /** Takes over records and removals in one transaction, keeping the ids. */
  apply(records: readonly ProxyRecord[], removed: readonly number[]): void;
}

/** Opens an empty replica. It answers exactly as the store over SQLite does, for it is one. */
export async function openProxyReplica(openSqlite: Runtime['openSqlite']): Promise<SqliteProxyReplica> {
  const database = await openDatabase(openSqlite, ':memory:');
  const importOne = createImporter(database);
  const remove = database.prepare('DELETE FROM proxies WHERE id = ?');
  return {
    ...createSqliteProxies(database),
    apply(records, removed) {
      database.transaction(() => {
        for (const id of removed) remove.run(id);
        for (const record of records) importOne(record);
      });
    },
  };
}
