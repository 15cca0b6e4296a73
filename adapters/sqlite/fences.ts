import { type Fence, outdated } from '../../src/lib/locks.ts';
import type { Database } from './database.ts';

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
    // Never read by name as a value: see `state.ts`.
    const key = `${store}:${fence.name}#token`;
    const seen = Number(find.get(key)?.value ?? 0);
    if (seen > fence.token) throw outdated();
    if (seen < fence.token) set.run(key, String(fence.token));
  };
}
