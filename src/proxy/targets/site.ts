import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { type Dialled, type Endpoint, formatAddress } from '../proxy.ts';

/**
 * Second-level domains under which others register names, such as `example.co.uk`. The list is short on
 * purpose: a missing name merges sites, and one too many (`web.de` is a site) splits one.
 */
const SECOND_LEVEL =
  /\.(co|com|net|org|gov|govt|gouv|gob|gub|go|gv|edu|ed|ac|ad|sch|or|ne|lg|nom|mil|ltd|plc)\.[a-z]{2}$/;

/**
 * Returns the site of a host in lower case, for which results are kept: the registered domain, recognised by its
 * form. That is the last two labels, or three under names such as `co.uk`. An address is returned unchanged.
 */
export function siteOf(host: string): string {
  if (isIP(host) !== 0) return host;
  const labels = host.split('.');
  return labels.slice(SECOND_LEVEL.test(host) ? -3 : -2).join('.');
}

/** Returns the host of a target, which may be a URL, `host:port` or a host, or `null` if it contains none. */
export function hostOfTarget(target: string | undefined): string | null {
  const text = target?.trim() ?? '';
  if (text === '') return null;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  return URL.canParse(url) ? new URL(url).hostname.slice(0, 253) || null : null;
}

/** Returns the site of a target, which may be a URL, `host:port` or a domain, or `null` if it is none. */
export function siteOfTarget(target: string | undefined): string | null {
  const host = hostOfTarget(target)?.replace(/^\[|\]$|\.$/g, '') ?? '';
  return /[.:]/.test(host) ? siteOf(host) : null;
}

/**
 * Returns the same key for one proxy under several protocols: an `https` proxy and an `http` proxy on one
 * port are the same. Each login is a proxy of its own, of which the key has a hash; see `loginTag`.
 */
export function proxyKeyOf({ protocol, login, tls, ...place }: Dialled): string {
  const scheme = tls ? 'tls' : protocol === 'https' ? 'http' : protocol;
  const address = formatAddress(place);
  const tag = login
    ? `#${createHash('sha256').update(`${address} ${login}`).digest('hex').slice(0, 16)}`
    : '';
  return `${scheme}://${address}${tag}`;
}

/** Returns what stands for address and login in a key with a login, and tells neither. */
export function loginTag(key: string): string {
  return key.slice(key.indexOf('#') + 1);
}

/** Returns the endpoints that a key may mean. */
export function endpointsOf(key: string): Endpoint[] {
  const [, protocol, ip = '', port] =
    /^(http|socks4|socks5):\/\/\[?([^\]]+?)\]?:(\d+)(?:#\w+)?$/.exec(key) ?? [];
  const place = { ip, port: Number(port) };
  if (protocol === 'http') {
    return [
      { protocol: 'http', ...place },
      { protocol: 'https', ...place },
    ];
  }
  return protocol === 'socks4' || protocol === 'socks5' ? [{ protocol, ...place }] : [];
}
