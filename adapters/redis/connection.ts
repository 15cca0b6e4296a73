import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import { AppError } from '../../src/errors.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { within } from '../../src/lib/deadline.ts';
import {
  codeOf,
  createRetry,
  type Failure,
  isUntrusted,
  type Repeat,
  refused,
  unavailable,
} from '../server-errors.ts';
import { parseRedisUrl, type RedisAddress } from './url.ts';

export type Arg = string | number;

/** A script that the server runs atomically. */
export interface Script {
  lua: string;
  sha: string;
}

const COMMAND_TIMEOUT_MS = 2500;
/** Opening may take this much longer than a command. */
const OPEN_MS = 2000;
/** The limit of opening if nothing listens: a restarting server is back by then, or down for longer. */
const REFUSED_TIMEOUT_MS = 1000;
const POLL_MS = 10;
/** Bridges a restart of half a second. More would delay whatever needs Redis while it is away. */
const RETRY_FOR_MS = 750;

export function script(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/**
 * Connects to the server that the URL names (see `parseRedisUrl`), and reconnects from then on. `limitMs` is the time
 * limit of one command.
 * @throws {AppError} `unavailable` if it is not ready within 5 s; without `retryAfterMs` if that is permanent.
 */
export async function openRedis(url: string, limitMs = COMMAND_TIMEOUT_MS): Promise<RedisConnection> {
  const address = parseRedisUrl(url);
  const client = connect(address, limitMs);
  let fault: unknown = new Error('not ready in time');
  // The commands report failures. Without a listener each connection error would be printed.
  client.on('error', (error: Error & { lastNodeError?: unknown }) => {
    fault = error.lastNodeError ?? error;
  });
  for (let waitedMs = 0; !isReady(client); waitedMs += POLL_MS) {
    const late = waitedMs >= (codeOf(fault) === 'ECONNREFUSED' ? REFUSED_TIMEOUT_MS : limitMs + OPEN_MS);
    // A node of the cluster may be down.
    if (late && client.status === 'ready') break;
    if (late || classify(fault) === 'lasting') {
      client.disconnect();
      throw failure(fault);
    }
    await systemClock.sleep(POLL_MS);
  }
  client.on('ready', () => {
    fault = null;
  });
  return wrap(client, address, limitMs, () => fault);
}

function isReady(client: Redis | Cluster): boolean {
  const parts = client instanceof Redis ? [client] : [client, ...client.nodes()];
  return parts.every(({ status }) => status === 'ready');
}

/** `why`: returns what the last attempt to connect has failed with, or `null`. */
function wrap(client: Redis | Cluster, { prefix }: RedisAddress, limitMs: number, why: () => unknown) {
  const send = (command: string, args: Arg[]) => client.call(command, args);
  const retry = createRetry(RETRY_FOR_MS, {
    classify,
    failure: (error) => failure(isUnsent(error) ? (why() ?? error) : error),
  });
  const persist = <T>(repeat: Repeat, attempt: () => Promise<T>) =>
    retry(repeat, () => within(limitMs, attempt()));

  return {
    /**
     * Returns the name of a key. Keys of one group share a slot of a cluster, so that one script can use them together.
     */
    key: (group: string, name: string) => `{${prefix}:${group}}:${name}`,
    call: (repeat: Repeat, command: string, ...args: Arg[]) => persist(repeat, () => send(command, args)),
    run: (repeat: Repeat, { lua, sha }: Script, keys: string[], args: Arg[]) =>
      persist(repeat, async () => {
        try {
          return await send('EVALSHA', [sha, keys.length, ...keys, ...args]);
        } catch (error) {
          if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
          return await send('EVAL', [lua, keys.length, ...keys, ...args]);
        }
      }),
    /** Sends the command, which may be repeated, to each server with records: one, or the masters of a cluster. */
    ask(command: string, ...args: Arg[]): Promise<unknown[]> {
      const servers = client instanceof Redis ? [client] : client.nodes('master');
      return Promise.all(servers.map((server) => persist('safe', () => server.call(command, args))));
    },
    async close(): Promise<void> {
      client.disconnect();
    },
  };
}

/** One server or cluster, shared by all stores of the process. Failures reject with `AppError('unavailable')`. */
export type RedisConnection = ReturnType<typeof wrap>;

/** Replies with which a server refuses a command before doing anything. */
const REFUSALS =
  /^(READONLY|OOM|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|NOAUTH|WRONGPASS|NOPERM|MOVED|ASK|UNBLOCKED)\b/;

/** Refusals of this user, or of what it asks for. */
const FORBIDDEN = /^(NOAUTH|WRONGPASS|NOPERM)\b/;
/** Other lasting refusals: an immediate retry would not help. */
const LASTING = /^(OOM|MISCONF)\b/;

/** What the server says. Before Redis 7, what it says within a script is wrapped. */
const saidBy = ({ message }: Error) => message.replace(/^ERR Error running script .*?: -(?=[A-Z]+ )/, '');

/** Returns the error for a caller if the command itself is not at fault. At its limit of memory, deletions still work. */
export function failure(cause: unknown): AppError {
  const said = cause instanceof Error ? saidBy(cause) : '';
  const isFull = said.startsWith('OOM ');
  if (isForbidden(cause)) return refused(cause);
  if (said.startsWith('READONLY ')) return unavailable(cause, 'is read-only');
  if (!isFull && !/^MISCONF .*No space left/.test(said))
    return unavailable(cause, said.startsWith('MISCONF ') ? 'cannot write to its disk' : undefined);
  const full = isFull ? 'The memory of the database is full.' : 'The disk of the database is full.';
  return new AppError('storage_full', full, { cause });
}

/** The error of ioredis for a command that it did not send. */
const isUnsent = (error: unknown) => error instanceof Error && /enableOfflineQueue/.test(error.message);

const isForbidden = (error: unknown) =>
  isUntrusted(error) || (error instanceof Error && FORBIDDEN.test(saidBy(error)));

export function classify(error: unknown): Failure {
  if (!(error instanceof Error)) return 'fault';
  const said = saidBy(error);
  if (LASTING.test(said) || isForbidden(error)) return 'lasting';
  if (REFUSALS.test(said) || isUnsent(error)) return 'refused';
  return error.name === 'ReplyError' ? 'fault' : 'unclear';
}

/** A connection that has been silent for this much longer than a command may take is closed and reopened. */
const SILENCE_MS = 1500;
const FIRST_PAUSE_MS = 50;
const MAX_RECONNECT_MS = 1000;

/** Connects to the address, and reconnects from then on. A connection and a command may take `limitMs` each. */
function connect(address: RedisAddress, limitMs: number): Redis | Cluster {
  const [first] = address.servers;
  /** Between half and the whole, so that many copies do not come at once. */
  const reconnect = (times: number) =>
    Math.min(MAX_RECONNECT_MS, FIRST_PAUSE_MS * 2 ** times) * (0.5 + Math.random() / 2);
  const options = {
    ...(address.username && { username: address.username }),
    ...(address.password && { password: address.password }),
    // Every node of a cluster has to prove that name. If it is an address, which TLS does not use as a name, each
    // node has to prove its own.
    ...(address.tls && { tls: isIP(first.host) ? {} : { servername: first.host } }),
    connectTimeout: limitMs,
    socketTimeout: limitMs + SILENCE_MS,
    // `RedisConnection` decides whether a command may be repeated, by what it does.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // After a failover the old master is read-only: resolve the name again to find the new one.
    reconnectOnError: (error: Error) => saidBy(error).startsWith('READONLY'),
  };
  if (!address.cluster) {
    return new Redis({
      ...options,
      ...whereabouts(address, reconnect),
      db: address.database,
      enableOfflineQueue: false,
      retryStrategy: reconnect,
    });
  }
  const cluster = new Cluster(address.servers, {
    redisOptions: options,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnect,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: limitMs,
    // Certificates contain host names, so with TLS the names must not be resolved.
    ...(address.tls && { dnsLookup: (host, done) => done(null, host) }),
  });
  // Otherwise a node is connected by its first command, and further commands meanwhile fail with errors that do not
  // show whether they were carried out.
  const greet = (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => {});
  };
  cluster.on('ready', () => cluster.nodes().forEach(greet));
  cluster.on('+node', (node: Redis) => {
    // Not before: the cluster asks one of them whether all is well, and considers one that is still connecting lost.
    if (cluster.status === 'ready') greet(node);
  });
  return cluster;
}

/** Returns the address of the server, or of the sentinels that know it. */
function whereabouts(
  { servers: [first, ...others], sentinel }: RedisAddress,
  reconnect: (times: number) => number,
) {
  if (sentinel === undefined) return first;
  return {
    sentinels: [first, ...others],
    name: sentinel,
    sentinelRetryStrategy: reconnect,
  };
}
