/** What a `redis:` URL says. */
export interface RedisAddress {
  host: string;
  port: number;
  tls: boolean;
  username?: string;
  password?: string;
  database: number;
  /** Begins every key, so that several installations can share one server. */
  prefix: string;
  cluster: boolean;
}

/**
 * Reads `redis://[user:password@]host[:port][/database][?prefix=picpool&cluster=true]`; `rediss:` is the same over
 * TLS. Each call of a cluster stays within one slot, but a cluster has only database 0.
 * @throws {RangeError} in words that do not repeat the URL, for it may hold a password.
 */
export function parseRedisUrl(text: string): RedisAddress {
  const url = new URL(text);
  const database = url.pathname.replace(/^\//, '') || '0';
  if (!/^\d{1,5}$/.test(database)) throw new RangeError('the path of a redis: URL must be a database number');
  const prefix = url.searchParams.get('prefix') ?? 'picpool';
  if (!/^[\w.:-]{1,64}$/.test(prefix)) {
    throw new RangeError('the prefix of a redis: URL must be 1 to 64 letters, digits, or any of . _ : -');
  }
  const cluster = /^(true|on|yes|1)$/i.test(url.searchParams.get('cluster') ?? '');
  if (cluster && database !== '0') throw new RangeError('a Redis cluster has only database 0');
  return {
    host: url.hostname.replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: Number(url.port || 6379),
    tls: url.protocol === 'rediss:',
    ...(url.username && { username: decodeURIComponent(url.username) }),
    ...(url.password && { password: decodeURIComponent(url.password) }),
    database: Number(database),
    prefix,
    cluster,
  };
}
