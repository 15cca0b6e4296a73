import { canonicalAddress, isGloballyRoutable } from '../../lib/address.ts';
import type { Endpoint } from '../proxy.ts';

/**
 * Ports that are never dialled, for any caller. A connection from here would look like an attack on the service
 * behind the port, or would send HTTP to something that obeys it. These are the ports that the Fetch standard blocks,
 * and those of databases, containers and remote desktops. Lists of free proxies do contain them.
 */
export const REFUSED_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514,
  515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 993, 995, 1433, 1521, 1719,
  1720, 1723, 1883, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5671, 5672,
  5900, 5901, 5984, 5985, 5986, 6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 8883, 9042,
  9200, 9300, 10080, 10250, 11211, 15672, 27017,
]);

/**
 * Reports whether an endpoint must not be dialled. `allowPrivate` lifts the rules about addresses, not those about
 * ports.
 */
export function isRefused(
  { ip, port }: Pick<Endpoint, 'ip' | 'port'>,
  { allowPrivate, own }: { allowPrivate: boolean; own: ReadonlySet<string> },
): boolean {
  const isPort = Number.isInteger(port) && port >= 1 && port <= 65_535;
  if (canonicalAddress(ip) !== ip || !isPort || REFUSED_PORTS.has(port)) return true;
  return !allowPrivate && (!isGloballyRoutable(ip) || own.has(ip));
}
