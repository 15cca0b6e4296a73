import type { Anonymity } from '../proxy.ts';
import { readAddress } from './echo.ts';

/** Headers by which proxies announce themselves or their client. */
const PROXY_HEADER =
  /^(via|forwarded|forwarded-for|x-forwarded(-.*)?|x-real-ip|client-ip|x-client-ip|true-client-ip|x-cluster-client-ip|x-originating-ip|x-remote-(ip|addr)|proxy-.*|x-proxy-.*|x-proxyuser-ip|x-via|x-bluecoat-via|max-forwards|xroxy-connection|x-imforwards|x-cache.*)$/;

/** Between two hops only; every proxy may and most must change them (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'te']);

/** A request as it reached a judge. */
interface Arrived {
  address: string;
  headers: Readonly<Record<string, string>>;
}

export interface Comparison {
  /** Headers that the check sent, names in lower case. */
  sent: Readonly<Record<string, string>>;
  /** What the same judge answered without a proxy between. */
  direct: Arrived;
  /** What it answered through the proxy. */
  proxied: Arrived & { chain: string };
  /** Our own addresses, canonical. */
  own: ReadonlySet<string>;
}

/**
 * What the proxy did to a request: `transparent` when any header shows one of our addresses, `anonymous` when
 * headers give the proxy away, else `elite`; and the names of the headers that were added or changed. What stands before
 * the judge (a balancer) adds headers too: those are known from the direct answer, in which the client is us.
 */
export function compareHeaders(comparison: Comparison): { anonymity: Anonymity; tampering: string[] } {
  const { sent, direct, proxied, own } = comparison;
  const tampering: string[] = [];
  let shown = holdsAddress(proxied.chain, own);
  for (const name of Object.keys(proxied.headers)) {
    const value = proxied.headers[name] ?? '';
    if (value === sent[name] || HOP_BY_HOP.has(name)) continue;
    const usual = direct.headers[name];
    if (usual !== undefined && sent[name] === undefined) {
      // The balancer's own: the same text, or the same about another client.
      if (value === usual || value === usual.replaceAll(direct.address, proxied.address)) continue;
      if (holdsAddress(value, own)) shown = true;
      // Request ids and the like differ each time; only a client's address means something.
      else if (!usual.includes(direct.address)) continue;
    } else if (holdsAddress(value, own)) shown = true;
    tampering.push(name);
  }
  if (shown) return { anonymity: 'transparent', tampering };
  return { anonymity: tampering.some((name) => PROXY_HEADER.test(name)) ? 'anonymous' : 'elite', tampering };
}

/** True when the answer shows all headers that something before the judge always adds: a forged answer lacks them. */
export function showsUsualHeaders({ sent, direct, proxied }: Omit<Comparison, 'own'>): boolean {
  for (const name in direct.headers) {
    if (proxied.headers[name] === undefined && sent[name] === undefined && !HOP_BY_HOP.has(name))
      return false;
  }
  return true;
}

/** True when the text names one of the addresses: IPv4, IPv6 in any spelling, mapped, bracketed, with a port. */
export function holdsAddress(text: string, addresses: ReadonlySet<string>): boolean {
  if (text === '' || addresses.size === 0) return false;
  for (const part of text.split(/[\s,;="'<>()]+/)) {
    const address = readAddress(part);
    if (address !== null && addresses.has(address)) return true;
  }
  return false;
}
