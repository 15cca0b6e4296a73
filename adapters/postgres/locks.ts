import { randomUUID } from 'node:crypto';
import { holdLease } from '../../src/lib/lease.ts';
import { type Fence, type Locks, outdated } from '../../src/lib/locks.ts';
import type { Ask, PostgresConnection } from './connection.ts';

/**
 * `Locks` as rows that expire by the server's clock. Tokens follow that clock in microseconds, so that they also grow
 * if the server has lost its data. An owner that asks again, because the answer was lost, gets a new token.
 * A row that ends more than a minute beyond its lease is not believed: that clock was set back, and the holder may be dead.
 */
export function createPostgresLocks({ table, ask }: PostgresConnection): Locks {
  const locks = table('locks');
  const end = (place: string) => `clock_timestamp() + ${place}::double precision * interval '1 millisecond'`;
  const acquire = `INSERT INTO ${locks} AS l (name, owner, token, expires)
    VALUES ($1, $2, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, ${end('$3')})
    ON CONFLICT (name) DO UPDATE
      SET owner = excluded.owner, token = greatest(l.token + 1, excluded.token), expires = excluded.expires
      WHERE l.owner = excluded.owner OR l.expires <= clock_timestamp() OR l.expires > excluded.expires + interval '1 minute'
    RETURNING token`;
  const renew = `UPDATE ${locks} SET expires = ${end('$3')}
    WHERE name = $1 AND owner = $2 AND expires > clock_timestamp() RETURNING name`;
  const release = `UPDATE ${locks} SET expires = clock_timestamp() WHERE name = $1 AND owner = $2`;

  return {
    async acquire(name, ttlMs) {
      const owner = randomUUID();
      const askedAt = performance.now();
      const [taken] = await ask<{ token: number }>('safe', acquire, [name, owner, ttlMs]);
      if (!taken) return null;
      return holdLease({
        token: taken.token,
        ttlMs,
        askedAt,
        renew: async () => (await ask('safe', renew, [name, owner, ttlMs])).length === 1,
        release: () => ask('safe', release, [name, owner]),
      });
    },
  };
}

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
