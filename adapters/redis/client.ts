import { isIP } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import type { RedisAddress } from './url.ts';

/** A connection that has been silent for this much longer than a command may take is closed and reopened. */
const SILENCE_MS = 1500;
export const FIRST_PAUSE_MS = 50;
const MAX_RECONNECT_MS = 1000;

/** Connects to the address, and reconnects from then on. A connection and a command may take `limitMs` each. */
export function connect(address: RedisAddress, limitMs: number): Redis | Cluster {
  const [first] = address.servers;
  const reconnect = (times: number) => Math.min(MAX_RECONNECT_MS, FIRST_PAUSE_MS * 2 ** times) * jitter();
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
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
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

/** Randomises the pauses of many copies, between half and the whole. */
export function jitter(): number {
  return 0.5 + Math.random() / 2;
}
