import { type Fence, outdated } from '../../src/lib/locks.ts';
import type { Database } from './database.ts';

/** The ending of the names under which tokens are stored. They are never read by name as values. */
const TOKEN = '#token';

/** Returns the name under which the largest token of a value, or of a fence, is stored. */
export const tokenKey = (name: string) => name + TOKEN;

/** Selects the names of values, without those of tokens. */
export const IS_VALUE = `key NOT LIKE '%${TOKEN}'`;

/** Creates a function that returns the largest token that the database has seen; 0 if none. */
export function createLastToken(database: Database): () => number {
  const find = database.prepare<{ last: number | null }>(
    `SELECT max(CAST(value AS INTEGER)) AS last FROM state WHERE key LIKE '%${TOKEN}'`,
  );
  return () => find.get()?.last ?? 0;
}

/**
 * Creates a function that rejects writes of a job with a successor: throws `conflict` if it has seen a later token.
 * Call it in the write's transaction. `store`: the owner of the fences.
 */
export function createFences(database: Database, store: string): (fence: Fence | undefined) => void {
  const find = database.prepare<{ value: string }>('SELECT value FROM state WHERE key = ?');
  const set = database.prepare(
    'INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  return (fence) => {
    if (!fence) return;
    const key = tokenKey(`${store}:${fence.name}`);
    const seen = Number(find.get(key)?.value ?? 0);
    if (seen > fence.token) throw outdated();
    if (seen < fence.token) set.run(key, String(fence.token));
  };
}
