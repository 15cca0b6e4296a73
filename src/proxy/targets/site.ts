import { isIP } from 'node:net';
import { type Endpoint, formatAddress } from '../proxy.ts';

/**
 * Names right below a country's domain under which others register theirs: `example.co.uk`. The list is short on purpose: a name
 * that is missing lumps sites together, and one too many (`web.de` is a site) tears one apart.
 */
const SECOND_LEVEL =
  /\.(co|com|net|org|gov|govt|gouv|gob|gub|go|gv|edu|ed|ac|ad|sch|or|ne|lg|nom|mil|ltd|plc)\.[a-z]{2}$/;

/**
 * The site of a host in lower case, for which results are kept: the domain that someone has registered, told by its form. That is the
 * last two labels, or three below names such as `co.uk`; an address stays.
 */
export function siteOf(host: string): string {
  if (isIP(host) !== 0) return host;
  const labels = host.split('.');
  return labels.slice(SECOND_LEVEL.test(host) ? -3 : -2).join('.');
}

/** One proxy, whatever it was listed as: an `https` proxy and an `http` proxy on one port are the same. */
export function proxyKeyOf(endpoint: Endpoint): string {
  const { protocol } = endpoint;
  return `${protocol === 'https' ? 'http' : protocol}://${formatAddress(endpoint)}`;
}

/** The records that a key may stand for. */
export function endpointsOf(key: string): Endpoint[] {
  const [, protocol, ip = '', port] = /^(http|socks4|socks5):\/\/\[?([^\]]+?)\]?:(\d+)$/.exec(key) ?? [];
  const place = { ip, port: Number(port) };
  if (protocol === 'http') {
    return [
      { protocol: 'http', ...place },
      { protocol: 'https', ...place },
    ];
  }
  return protocol === 'socks4' || protocol === 'socks5' ? [{ protocol, ...place }] : [];
}
