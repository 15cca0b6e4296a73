import type { StateStore } from '../../src/lib/state.ts';
import type { PostgresConnection } from './connection.ts';

/** A `StateStore` in one table. */
export function createPostgresState({ table, ask }: PostgresConnection): StateStore {
  const values = table('state');
  const get = `SELECT value FROM ${values} WHERE key = $1`;
  return {
    get: async (key) => (await ask<{ value: string }>('safe', get, [key]))[0]?.value ?? null,

    async set(key, value) {
      await ask(
        'safe',
        `INSERT INTO ${values} (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
        [key, value],
      );
    },

    async getOrSet(key, value) {
      // A separate statement reads the row, because the first one does not see what was added after it began.
      await ask('safe', `INSERT INTO ${values} (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`, [
        key,
        value,
      ]);
      return (await ask<{ value: string }>('safe', get, [key]))[0]?.value ?? value;
    },

    async setFenced(key, value, token) {
      const set = await ask(
        'safe',
        `INSERT INTO ${values} AS s (key, value, token) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, token = excluded.token
           WHERE s.token IS NULL OR s.token <= excluded.token
         RETURNING key`,
        [key, value, token],
      );
      return set.length === 1;
    },

    async remove(key, token = Number.MAX_SAFE_INTEGER) {
      await ask('safe', `DELETE FROM ${values} WHERE key = $1 AND coalesce(token, 0) <= $2`, [key, token]);
    },

    keys: async () => (await ask<{ key: string }>('safe', `SELECT key FROM ${values}`)).map(({ key }) => key),
  };
}
