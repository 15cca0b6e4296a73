import { within } from '../../src/lib/deadline.ts';
import { createPool } from './pool.ts';
import type { Endpoint, PostgresAddress } from './url.ts';

const LIMIT_MS = 2000;

/**
 * The server that takes writes. Rejects with what the last of them has said where none does: they may be about to agree on one.
 */
export async function findPrimary(address: PostgresAddress): Promise<Endpoint> {
  const asked = address.servers.map(async (server) => {
    const pool = await createPool(address, server, 1);
    try {
      const [row] = await within(LIMIT_MS, pool.sql.unsafe('SHOW transaction_read_only'));
      if (row?.transaction_read_only === 'off') return server;
      throw Object.assign(new Error(`${server.host}:${server.port} takes no writes`), { code: '25006' });
    } finally {
      pool.drop();
    }
  });
  return Promise.any(asked).catch(async (error: unknown) => {
    throw error instanceof AggregateError ? error.errors.at(-1) : error;
  });
}
