import { type Fence, outdated } from '../../src/lib/locks.ts';
import type { Ask, PostgresConnection } from './connection.ts';

/**
 * A function that rejects writes of a job that another has followed: throws `conflict` where a younger token was seen. To be
 * called at the beginning of the transaction of the write. `store`: whose fences they are.
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
