import { randomUUID } from 'node:crypto';
import { holdLease } from '../../src/lib/lease.ts';
import type { Locks } from '../../src/lib/locks.ts';
import type { PostgresConnection } from './connection.ts';

/**
 * `Locks` as rows that expire by the server's clock. Tokens follow that clock in microseconds, so that they also grow
 * if the server has lost its data. An owner that asks again, because the answer was lost, gets a new token.
 */
export function createPostgresLocks({ table, ask }: PostgresConnection): Locks {
  const locks = table('locks');
  const end = (place: string) => `clock_timestamp() + ${place}::double precision * interval '1 millisecond'`;
  const acquire = `INSERT INTO ${locks} AS l (name, owner, token, expires)
    VALUES ($1, $2, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, ${end('$3')})
    ON CONFLICT (name) DO UPDATE
      SET owner = excluded.owner, token = greatest(l.token + 1, excluded.token), expires = excluded.expires
      WHERE l.owner = excluded.owner OR l.expires <= clock_timestamp()
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
