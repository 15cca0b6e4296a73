import { type Fence, outdated } from '../../src/lib/locks.ts';
import type { Database } from './database.ts';

/**
 * A function that rejects writes of a job that another has followed: throws `conflict` where it has seen a younger token.
 * To be called in the transaction of the write. `store`: whose fences they are.
 */
export function createFences(database: Database, store: string): (fence: Fence | undefined) => void {
  const find = database.prepare<{ value: string }>('SELECT value FROM state WHERE key = ?');
  const set = database.prepare(
    'INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  return (fence) => {
    if (!fence) return;
    // Not a value that anyone asks for by its name: see `state.ts`.
    const key = `${store}:${fence.name}#token`;
    const seen = Number(find.get(key)?.value ?? 0);
    if (seen > fence.token) throw outdated();
    if (seen < fence.token) set.run(key, String(fence.token));
  };
}
