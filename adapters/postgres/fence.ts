import { type Fence, outdated } from '../../src/lib/locks.ts';
import type { Ask, PostgresConnection } from './connection.ts';

/**
 * Creates a function that rejects writes of a job with a successor: throws `conflict` if a later token was seen. Call
 * it at the beginning of the write's transaction. `store`: the owner of the fences.
 */
export function createFences(
  { table }: Pick<PostgresConnection, 'table'>,
  store: string,
): (ask: Ask, fence: Fence | undefined) => Promise<void> {
  const fences = table('fences');
  const raise = `INSERT INTO ${fences} AS f (name, token) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token RETURNING token`;
  return async (ask, fence) => {
    if (!fence) return;
    const raised = await ask(raise, [`${store}:${fence.name}`, fence.token]);
    if (raised.length === 0) throw outdated();
  };
}
