import { canonicalAddress, isGloballyRoutable } from '../../lib/address.ts';
import type { Endpoint } from '../proxy.ts';

/**
 * Ports that are never dialled, whoever named them: a connection from here would look like an attack on the service that
 * lives there, or would speak HTTP into something that obeys it. Lists of free proxies do contain them.
 */
export const REFUSED_PORTS: ReadonlyMap<number, string> = new Map([
  [21, 'FTP'],
  [22, 'SSH'],
  [23, 'Telnet'],
  [25, 'SMTP'],
  [53, 'DNS'],
  [110, 'POP3'],
  [111, 'portmapper'],
  [135, 'Windows RPC'],
  [139, 'NetBIOS'],
  [143, 'IMAP'],
  [389, 'LDAP'],
  [445, 'SMB'],
  [465, 'SMTP over TLS'],
  [587, 'mail submission'],
  [636, 'LDAP over TLS'],
  [873, 'rsync'],
  [993, 'IMAP over TLS'],
  [995, 'POP3 over TLS'],
  [1433, 'SQL Server'],
  [1521, 'Oracle'],
  [2049, 'NFS'],
  [2375, 'Docker'],
  [3306, 'MySQL'],
  [5432, 'PostgreSQL'],
  [6379, 'Redis'],
  [11211, 'memcached'],
  [27017, 'MongoDB'],
]);

/**
 * Why an endpoint must not be dialled, or `null` when it may be. `allowPrivate` lifts the rules about addresses, not
 * those about ports.
 */
export function refusalOf(
  { ip, port }: Pick<Endpoint, 'ip' | 'port'>,
  { allowPrivate, own }: { allowPrivate: boolean; own: ReadonlySet<string> },
): string | null {
  if (canonicalAddress(ip) !== ip) return 'not a literal address in canonical form';
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return 'not a port';
  const service = REFUSED_PORTS.get(port);
  if (service !== undefined) return `port of ${service}`;
  if (allowPrivate) return null;
  if (!isGloballyRoutable(ip)) return 'not a globally routable address';
  return own.has(ip) ? 'an address of this machine' : null;
}
