import type { Sql } from 'postgres';
import { within } from '../../src/lib/deadline.ts';
import type { Server } from '../servers.ts';
import { createPool } from './pool.ts';
import type { PostgresAddress } from './url.ts';

const LIMIT_MS = 2000;

/** What is known about a server before it is used. */
interface Probed {
  server: Server;
  /** Whether a connection is one session of the server, without a pooler in between. */
  isDirect: boolean;
}

/**
 * Finds the server that accepts writes. A single server is used as it is. If none accepts writes, rejects with the
 * last error: they may be about to elect one.
 */
export async function probe(address: PostgresAddress): Promise<Probed> {
  const { servers } = address;
  const asked = servers.map(async (server): Promise<Probed> => {
    const pool = await createPool({ ...address, connections: 1, prepare: false }, server);
    try {
      return await within(LIMIT_MS, look(pool.sql, server, servers.length > 1));
    } finally {
      pool.drop();
    }
  });
  return Promise.any(asked).catch((error: unknown) => {
    throw error instanceof AggregateError ? error.errors.at(-1) : error;
  });
}

async function look(sql: Sql, server: Server, mustWrite: boolean): Promise<Probed> {
  const found = await sql.unsafe<{ pid: number; readOnly: string }[]>(
    `SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') AS "readOnly"`,
  );
  const [row] = found;
  if (mustWrite && row?.readOnly !== 'off') {
    throw Object.assign(new Error(`${server.host}:${server.port} is read-only`), { code: '25006' });
  }
  // A pooler gives its clients other process IDs.
  return { server, isDirect: found.state.pid === row?.pid };
}
