import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import { systemClock } from '../../src/lib/clock.ts';
import { classify, refused, unavailable } from './errors.ts';
import { parseRedisUrl, type RedisAddress } from './url.ts';

export type Arg = string | number;

/** `safe`: done twice is as good as done once, so it may be sent again after its reply was lost. */
export type Repeat = 'safe' | 'never';

/** A script that runs on the server in one piece. */
export interface Script {
  lua: string;
  sha: string;
}

/** One server or cluster, shared by all stores of the process. Failures reject with `AppError('unavailable')`. */
export interface RedisConnection {
  /** The name of a key. Keys of one group lie in one slot of a cluster, so one script may use them together. */
  key(group: string, name: string): string;
  call(repeat: Repeat, command: string, ...args: Arg[]): Promise<unknown>;
  run(repeat: Repeat, script: Script, keys: string[], args: Arg[]): Promise<unknown>;
  /** Sends the command, which may be repeated, to each server that holds records: one, or the masters of a cluster. */
  ask(command: string, ...args: Arg[]): Promise<unknown[]>;
  close(): Promise<void>;
}

const OPEN_TIMEOUT_MS = 4500;
/** The same where nobody listens: a server that restarts is back by then, or away for longer. */
const REFUSED_TIMEOUT_MS = 1000;
const POLL_MS = 10;
const CONNECT_TIMEOUT_MS = 2000;
/** A call ends within `RETRY_FOR_MS + COMMAND_TIMEOUT_MS` and one pause, which is less than 5 s. */
const COMMAND_TIMEOUT_MS = 2500;
const RETRY_FOR_MS = 1500;
const MAX_TRIES = 5;
const FIRST_PAUSE_MS = 50;
/** A connection that owes an answer for so long is closed and made anew. */
const SOCKET_TIMEOUT_MS = 4000;
const MAX_RECONNECT_MS = 1000;

export function script(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/**
 * Connects to the server that the URL names (see `parseRedisUrl`) and keeps the connection up from then on.
 * @throws {AppError} `unavailable` where it is not ready within 5 s; without `retryAfterMs` where that will not pass.
 */
export async function openRedis(url: string, random: () => number = Math.random): Promise<RedisConnection> {
  const address = parseRedisUrl(url);
  const client = connect(address, random);
  let fault: unknown = new Error('not ready in time');
  // The commands report what goes wrong; without a listener each fault of the connection would be printed.
  client.on('error', (error: Error & { lastNodeError?: unknown }) => {
    fault = error.lastNodeError ?? error;
  });
  for (let waitedMs = 0; !isReady(client); waitedMs += POLL_MS) {
    const late = waitedMs >= (isRefusal(fault) ? REFUSED_TIMEOUT_MS : OPEN_TIMEOUT_MS);
    // A node of the cluster may be away.
    if (late && client.status === 'ready') break;
    if (late || classify(fault) === 'lasting') {
      client.disconnect();
      throw classify(fault) === 'lasting' ? refused(fault) : unavailable(fault);
    }
    await systemClock.sleep(POLL_MS);
  }
  return wrap(client, address.prefix, random);
}

function isRefusal(fault: unknown): boolean {
  return fault instanceof Error && 'code' in fault && fault.code === 'ECONNREFUSED';
}

function isReady(client: Redis | Cluster): boolean {
  const parts = client instanceof Redis ? [client] : [client, ...client.nodes()];
  return parts.every(({ status }) => status === 'ready');
}

function connect(address: RedisAddress, random: () => number): Redis | Cluster {
  const reconnect = (times: number) =>
    Math.min(MAX_RECONNECT_MS, FIRST_PAUSE_MS * 2 ** times) * jitter(random);
  const options = {
    ...(address.username && { username: address.username }),
    ...(address.password && { password: address.password }),
    // Every node of a cluster has to prove that name; an address, which is no name for TLS, each node its own.
    ...(address.tls && { tls: isIP(address.host) ? {} : { servername: address.host } }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    // Whether a command may be sent again is decided below, by what it does.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // After a failover the old master is read-only: ask the name for the new one.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  if (!address.cluster) {
    const { host, port, database } = address;
    return new Redis({
      ...options,
      host,
      port,
      db: database,
      enableOfflineQueue: false,
      retryStrategy: reconnect,
    });
  }
  const cluster = new Cluster([{ host: address.host, port: address.port }], {
    redisOptions: options,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnect,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    // Certificates name hosts, so TLS needs the names to stay names.
    ...(address.tls && { dnsLookup: (host, done) => done(null, host) }),
  });
  // Left alone, a node is connected by its first command, and those that come meanwhile are refused in such words
  // that they may as well have been carried out.
  const greet = (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => {});
  };
  cluster.on('ready', () => cluster.nodes().forEach(greet));
  cluster.on('+node', (node: Redis) => {
    // Not before: the cluster asks one of them whether all is well, and takes one that is just connecting for lost.
    if (cluster.status === 'ready') greet(node);
  });
  return cluster;
}

function wrap(client: Redis | Cluster, prefix: string, random: () => number): RedisConnection {
  const send = (command: string, args: Arg[]) => client.call(command, args);

  async function persist(repeat: Repeat, attempt: () => Promise<unknown>): Promise<unknown> {
    const startedAt = performance.now();
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        const failure = classify(error);
        if (failure === 'fault') throw error;
        const mayRepeat = failure === 'refused' || (failure === 'unclear' && repeat === 'safe');
        if (!mayRepeat || tries >= MAX_TRIES || performance.now() - startedAt > RETRY_FOR_MS) {
          throw unavailable(error);
        }
      }
      await systemClock.sleep(FIRST_PAUSE_MS * 2 ** (tries - 1) * jitter(random));
    }
  }

  return {
    key: (group, name) => `{${prefix}:${group}}:${name}`,
    call: (repeat, command, ...args) => persist(repeat, () => send(command, args)),
    run: (repeat, { lua, sha }, keys, args) =>
      persist(repeat, async () => {
        try {
          return await send('EVALSHA', [sha, keys.length, ...keys, ...args]);
        } catch (error) {
          if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
          return await send('EVAL', [lua, keys.length, ...keys, ...args]);
        }
      }),
    ask(command, ...args) {
      const servers = client instanceof Redis ? [client] : client.nodes('master');
      return Promise.all(servers.map((server) => persist('safe', () => server.call(command, args))));
    },
    close: async () => client.disconnect(),
  };
}

/** Spreads the pauses of many copies: between half and the whole. */
function jitter(random: () => number): number {
  return 0.5 + random() / 2;
}
