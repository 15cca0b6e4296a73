import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import postgres from 'postgres';
import { systemClock } from '../../src/lib/clock.ts';
import { within } from '../../src/lib/deadline.ts';
import { createSemaphore } from '../../src/lib/semaphore.ts';
import type { Server } from '../servers.ts';
import { isFromServer } from './errors.ts';
import type { PostgresAddress } from './url.ts';

const CONNECT_TIMEOUT_S = 2;
/** Maximum pause before reconnecting, in s. */
const MOST_PAUSE_S = 0.5;
const CLOSE_TIMEOUT_MS = 1000;
/** After an error, a connection ends within this time. */
const SETTLE_MS = 5;

/** Returns 8-byte integers as numbers, because all of picpool's are safe. */
const INT8 = { to: 20, from: [20], serialize: String, parse: Number };

/**
 * Creates connections to a server on demand. `prepare` decides whether statements are prepared: the driver then also
 * prepares its COMMIT, and if a pooler sends that to a session which does not know it, a transaction is rolled back
 * that seems to be committed.
 */
export async function createPool(address: PostgresAddress & { prepare: boolean }, server: Server) {
  const { user, password, passwordFile, database, rootCertificates, tls, connections, prepare } = address;
  const sockets = new Set<Socket>();
  const inTurn = createSemaphore(connections);
  let dropped = false;

  /** Throws an error after which a statement is sent over other connections. */
  function requireKept(): void {
    if (dropped) throw Object.assign(new Error('the connections were dropped'), { code: 'CONNECT_TIMEOUT' });
  }

  function dial(): Socket {
    // The driver also dials after its end, for what waited then: a connection that nobody would close.
    requireKept();
    const { host, port } = server;
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // The driver asks its socket for the name that the certificate must have.
    return Object.assign(socket, { host, port });
  }

  const sql = postgres({
    host: server.host,
    port: server.port,
    user,
    password:
      passwordFile === undefined
        ? (password ?? '')
        : async () => (await readFile(passwordFile, 'utf8')).trim(),
    database,
    ssl: tls && {
      rejectUnauthorized: true,
      // Without it, an address would be replaced by `localhost`.
      host: server.host,
      checkServerIdentity: (_: string, certificate: PeerCertificate) =>
        checkServerIdentity(server.host, certificate),
      ...(rootCertificates !== undefined && { ca: await readFile(rootCertificates, 'utf8') }),
    },
    max: connections,
    connect_timeout: CONNECT_TIMEOUT_S,
    idle_timeout: 0,
    max_lifetime: 1800,
    prepare,
    fetch_types: false,
    backoff: (retries: number) => Math.min(MOST_PAUSE_S, 0.02 * 2 ** retries),
    connection: { application_name: 'picpool' },
    types: { int8: INT8 },
    onnotice: () => {},
    // Not in the driver's types.
    ...{ socket: dial },
  });

  const drop = () => {
    dropped = true;
    void sql.end({ timeout: 0 }).catch(() => {});
    for (const socket of sockets) socket.destroy();
  };
  return {
    sql,
    server,
    /** Runs a statement or transaction as soon as a connection is free. */
    inTurn: <T>(work: () => Promise<T>) =>
      inTurn(async () => {
        requireKept();
        return await work().catch(async (error: unknown) => {
          // The driver never answers what it is given between the error and the end of a connection.
          if (!isFromServer(error)) await systemClock.sleep(SETTLE_MS);
          throw error;
        });
      }),
    /** How many calls use it. */
    calls: 0,
    drop,
    /** Ends the connections gracefully: what runs or waits is answered, unless that takes longer than a second. */
    async close(): Promise<void> {
      const ended = inTurn(async () => {}).then(() => sql.end());
      await within(CLOSE_TIMEOUT_MS, ended).catch(() => {});
      drop();
    },
  };
}

/** Connections to one server. */
export type Pool = Awaited<ReturnType<typeof createPool>>;
