import { chmod, lstat, rm } from 'node:fs/promises';
import { connect, type NetConnectOpts } from 'node:net';
import type { Config } from '../config.ts';
import { AppError, inEnglish } from '../errors.ts';
import { bracketed } from '../lib/address.ts';
import { type Handler, type HttpServer, type Runtime, SOCKET_MODE } from '../runtime/runtime.ts';

const UNIX = 'unix:';

/** Returns the path of the Unix socket that the server listens on, otherwise `null`. */
export function socketPath(host: string): string | null {
  return host.startsWith(UNIX) ? host.slice(UNIX.length) : null;
}

export interface Listening {
  server: HttpServer;
  /** `http://localhost:3000`, or `unix:/run/picpool/http.sock`. */
  url: string;
}

/** Starts to listen on `HOST` and `PORT`. Rejects with `unavailable` if that is not possible. */
export async function listen(
  runtime: Runtime,
  handler: Handler,
  { HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>,
): Promise<Listening> {
  const path = socketPath(HOST);
  if (path !== null) await removeStale(path);
  const serveAt = (hostname: string) => runtime.serve(handler, path ? { path } : { hostname, port: PORT });
  const said = inEnglish(`The server cannot listen with HOST=${HOST}${path ? '' : ` and PORT=${PORT}`}.`);
  // A system may have no IPv6 at all. Any other reason against `::` holds for all addresses of IPv4 as well.
  const server = await serveAt(HOST)
    .catch((error) => (HOST === '::' ? serveAt('0.0.0.0') : Promise.reject(error)))
    .catch((cause) => Promise.reject(new AppError('unavailable', said, { cause })));
  // The runtimes remove the socket when they stop to accept. Later, it may be that of another server.
  if (path !== null) await chmod(path, SOCKET_MODE);
  const address = path ? { path } : { host: ownAddress(server.hostname), port: server.port };
  return {
    server: { ...server, drain: () => acceptWaiting(address).then(server.drain) },
    url: path ? HOST : urlOf(server),
  };
}

/** A server that was killed leaves its socket behind, on which nobody can listen again. */
async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isSocket())
    throw new AppError('unavailable', inEnglish(`HOST names ${path}, which is not a socket.`));
  if (await isAnswered({ path }))
    throw new AppError('unavailable', inEnglish(`Another server already listens at ${path}.`));
  await rm(path, { force: true });
}

/** Reports whether anything accepts connections at the address, within its `timeout`. */
export function isAnswered(address: NetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address, () => resolve(true));
    for (const end of ['connect', 'timeout']) socket.once(end, () => socket.destroy());
    socket.once('error', () => resolve(false)).once('close', () => resolve(false));
  });
}

/** Returns where this machine can reach a server that listens at the address. */
export function ownAddress(hostname: string): string {
  if (hostname === '0.0.0.0') return '127.0.0.1';
  return hostname === '::' ? '::1' : hostname;
}

/** Returns where browsers of this machine reach a server that listens there. */
export function urlOf({ hostname, port }: Pick<HttpServer, 'hostname' | 'port'>): string {
  const everywhere = hostname === '0.0.0.0' || hostname === '::';
  const host = everywhere ? 'localhost' : bracketed(hostname);
  return `http://${host}:${port}`;
}

/** Longer than accepting takes; a machine that cannot connect to itself is not waited for. In ms. */
const PATIENCE_MS = 5000;

/**
 * Resolves when the server at the address has accepted every connection that was queued at its listener. The system
 * resets connections that are still queued when the listener closes, although their requests may have been sent in
 * full. Our own connection queues behind them: when it is answered, they have been read. Never rejects.
 */
function acceptWaiting(address: NetConnectOpts): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.once('connect', () =>
      socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    );
    socket.once('data', () => socket.destroy());
    socket.once('error', () => socket.destroy());
    socket.once('close', () => resolve());
  });
}
