import { decoded, flagOf, requireParameters, type Server, serverAt, splitHosts } from '../servers.ts';

/** The contents of a `postgres:` URL. */
export interface PostgresAddress {
  /** The servers, at least one, of which one accepts writes. */
  servers: [Server, ...Server[]];
  user: string;
  password?: string;
  /** A file with the password, read at each connection. */
  passwordFile?: string;
  database: string;
  /** The schema that holds the tables, so that several installations can share one database. */
  schema: string;
  tls: boolean;
  /** A file with the certificates of trusted authorities. Default: those of the system. */
  rootCertificates?: string;
  /** Maximum number of connections of this process. */
  connections: number;
  /** Whether the server may keep prepared statements for a connection. Default: detected. */
  prepare?: boolean;
}

const PORT = 5432;
const CONNECTIONS = 10;
const PARAMETERS = [
  'schema',
  'sslmode',
  'sslrootcert',
  'connections',
  'prepare',
  'password_file',
  'host',
  'target_session_attrs',
];
const MODES = new Map([
  ['disable', false],
  ['require', true],
  ['verify-ca', true],
  ['verify-full', true],
]);

/**
 * Parses
 * `postgres://[user:password@]host[:port][,host[:port]...][/database][?schema=picpool&sslmode=verify-full&...]`. If
 * TLS is used at all, the certificate and the name of the server are verified.
 * @throws {RangeError} with a message that does not repeat the URL, which may contain a password.
 */
export function parsePostgresUrl(text: string): PostgresAddress {
  const { url, hosts } = splitHosts(text, 'postgres');
  const given = url.searchParams;
  requireParameters(url, 'postgres', PARAMETERS);
  const schema = given.get('schema') ?? 'picpool';
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    throw new RangeError('schema in a postgres: URL must be 1 to 48 lower-case letters, digits or _');
  }
  const mode = given.get('sslmode') ?? 'disable';
  const tls = MODES.get(mode);
  if (tls === undefined) {
    throw new RangeError(`sslmode in a postgres: URL must be one of ${[...MODES.keys()].join(', ')}`);
  }
  const connections = given.get('connections') ?? String(CONNECTIONS);
  if (!/^[1-9]\d{0,2}$/.test(connections)) {
    throw new RangeError('connections in a postgres: URL must be a number from 1 to 999');
  }
  const role = given.get('target_session_attrs') ?? 'read-write';
  if (!['read-write', 'primary', 'any'].includes(role)) {
    throw new RangeError('target_session_attrs in a postgres: URL must be read-write: all copies write');
  }
  const [first, ...others] = (given.get('host')?.split(',') ?? hosts).map((host) =>
    serverAt(host, 'postgres', PORT),
  );
  const [rootCertificates, passwordFile] = [given.get('sslrootcert'), given.get('password_file')];
  const prepare = flagOf(url, 'prepare');
  return {
    servers: [first ?? { host: '127.0.0.1', port: PORT }, ...others],
    user: decoded(url.username) || 'postgres',
    ...(url.password && { password: decoded(url.password) }),
    ...(passwordFile && { passwordFile }),
    database: decoded(url.pathname.slice(1)) || 'postgres',
    schema,
    tls,
    ...(rootCertificates && rootCertificates !== 'system' && { rootCertificates }),
    connections: Number(connections),
    ...(prepare !== null && { prepare }),
  };
}
