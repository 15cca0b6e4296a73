import type { StateStore } from '../../src/lib/state.ts';
import type { Database } from './database.ts';
import { IS_VALUE, tokenKey } from './fences.ts';

/**
 * A `StateStore` over one table. Values survive a power failure, because a changed secret would sign everyone out.
 */
export function createSqliteState(database: Database): StateStore {
  const select = database.prepare<{ value: string }>('SELECT value FROM state WHERE key = ?');
  const insert = database.prepare('INSERT INTO state VALUES (?, ?) ON CONFLICT DO NOTHING');
  const upsert = database.prepare(
    'INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  const erase = database.prepare('DELETE FROM state WHERE key IN (?, ?)');
  const names = database.prepare<{ key: string }>(`SELECT key FROM state WHERE ${IS_VALUE}`);
  const read = (key: string) => select.get(key)?.value ?? null;

  async function write<T>(work: () => T): Promise<T> {
    const result = database.urgent(work);
    await database.onDisk();
    return result;
  }

  return {
    get: async (key) => read(key),
    set: (key, value) => write(() => upsert.run(key, value)),
    setFenced: (key, value, token) =>
      write(() => {
        if (Number(read(tokenKey(key)) ?? 0) > token) return false;
        upsert.run(tokenKey(key), String(token));
        upsert.run(key, value);
        return true;
      }),
    async remove(key, token = Number.MAX_SAFE_INTEGER) {
      database.freeing(() => {
        if (Number(read(tokenKey(key)) ?? 0) <= token) erase.run(key, tokenKey(key));
      });
      await database.onDisk();
    },
    keys: async () => names.all().map(({ key }) => key),
    getOrSet: async (key, value) =>
      read(key) ??
      write(() => {
        insert.run(key, value);
        return read(key) ?? value;
      }),
  };
}
