import type { StateStore } from '../../src/shared/state.ts';
import type { Database } from './database.ts';

/** The name under which the largest token of a value is kept. */
const fenceOf = (key: string) => `${key}#token`;

/** `StateStore` over one table. Values survive a loss of power: a secret that changed would sign everyone out. */
export function createSqliteState(database: Database): StateStore {
  const select = database.prepare<{ value: string }>('SELECT value FROM state WHERE key = ?');
  const insert = database.prepare('INSERT INTO state VALUES (?, ?) ON CONFLICT DO NOTHING');
  const upsert = database.prepare(
    'INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  const names = database.prepare<{ key: string }>('SELECT key FROM state');
  const read = (key: string) => select.get(key)?.value ?? null;
  return {
    get: async (key) => read(key),
    set: async (key, value) => database.durably(() => upsert.run(key, value)),
    setFenced: async (key, value, token) =>
      database.durably(() => {
        if (Number(read(fenceOf(key)) ?? 0) > token) return false;
        upsert.run(fenceOf(key), String(token));
        upsert.run(key, value);
        return true;
      }),
    keys: async () => names.all().map(({ key }) => key),
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
