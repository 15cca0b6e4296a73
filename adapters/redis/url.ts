import { decoded, flagOf, requireParameters, type Server, serverAt, splitHosts } from '../servers.ts';

/** The contents of a `redis:` URL. */
export interface RedisAddress {
  /** The server; any server of a cluster; or the sentinels. At least one. */
  servers: [Server, ...Server[]];
  tls: boolean;
  username?: string;
  password?: string;
  database: number;
  /** Prefix of every key, so that several installations can share one server. */
  prefix: string;
  cluster: boolean;
  /** The name under which sentinels know the servers. */
  sentinel?: string;
}

const PORT = 6379;
const SENTINEL_PORT = 26_379;

/**
 * Parses
 * `redis://[user:password@]host[:port][,host[:port]...][/database][?prefix=picpool&cluster=true&sentinel=name]`;
 * `rediss:` is the same over TLS. Each call to a cluster uses only one slot, but a cluster only has database 0.
 * @throws {RangeError} with a message that does not repeat the URL, which may contain a password.
 */
export function parseRedisUrl(text: string): RedisAddress {
  const { url, hosts } = splitHosts(text, 'redis');
  requireParameters(url, 'redis', ['prefix', 'cluster', 'sentinel']);
  const database = url.pathname.replace(/^\//, '') || '0';
  if (!/^\d{1,5}$/.test(database)) throw new RangeError('the path of a redis: URL must be a database number');
  const prefix = url.searchParams.get('prefix') ?? 'picpool';
  if (!/^[\w.:-]{1,64}$/.test(prefix)) {
    throw new RangeError('the prefix of a redis: URL must be 1 to 64 letters, digits, or any of . _ : -');
  }
  const cluster = flagOf(url, 'cluster') ?? false;
  const sentinel = url.searchParams.get('sentinel') ?? '';
  const tls = url.protocol === 'rediss:';
  if (cluster && database !== '0') throw new RangeError('a Redis cluster has only database 0');
  if (cluster && sentinel !== '') throw new RangeError('a redis: URL names a cluster or sentinels, not both');
  if (sentinel !== '' && tls) throw new RangeError('sentinels only work without TLS: use redis:');
  if (hosts.length > 1 && !cluster && sentinel === '') {
    throw new RangeError('several hosts in a redis: URL need sentinel=NAME or cluster=true');
  }
  const [first, ...others] = hosts.map((host) =>
    serverAt(host, 'redis', sentinel === '' ? PORT : SENTINEL_PORT),
  );
  return {
    servers: [first ?? { host: '127.0.0.1', port: PORT }, ...others],
    tls,
    ...(url.username && { username: decoded(url.username) }),
    ...(url.password && { password: decoded(url.password) }),
    database: Number(database),
    prefix,
    cluster,
    ...(sentinel !== '' && { sentinel }),
  };
}
