import type { StateStore } from '../../src/shared/state.ts';
import type { Database } from './database.ts';

/** `StateStore` over one table. Values survive a loss of power: a secret that changed would sign everyone out. */
export function createSqliteState(database: Database): StateStore {
  const select = database.prepare<{ value: string }>('SELECT value FROM state WHERE key = ?');
  const insert = database.prepare('INSERT INTO state VALUES (?, ?) ON CONFLICT DO NOTHING');
  const upsert = database.prepare(
    'INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  const read = (key: string) => select.get(key)?.value ?? null;
  return {
    get: async (key) => read(key),
    set: async (key, value) => database.durably(() => upsert.run(key, value)),
    async getOrSet(key, value) {
      return (
        read(key) ??
        database.durably(() => {
          insert.run(key, value);
          return read(key) ?? value;
        })
      );
    },
  };
}
