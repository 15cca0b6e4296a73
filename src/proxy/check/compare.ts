import type { Anonymity } from '../proxy.ts';
import { readAddress } from './echo.ts';

/** Headers with which proxies announce themselves or their client. */
const PROXY_HEADER =
  /^(via|forwarded|forwarded-for|x-forwarded(-.*)?|x-real-ip|client-ip|x-client-ip|true-client-ip|x-cluster-client-ip|x-originating-ip|x-remote-(ip|addr)|proxy-.*|x-proxy-.*|x-proxyuser-ip|x-via|x-bluecoat-via|max-forwards|xroxy-connection|x-imforwards|x-cache.*)$/;

/** Headers that apply to a single hop. Every proxy may change them, and most have to (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'te']);

/** A request as it reached a judge. */
interface Arrived {
  address: string;
  headers: Readonly<Record<string, string>>;
}

interface Comparison {
  /** Headers that the check sent, names in lower case. */
  sent: Readonly<Record<string, string>>;
  /** The same judge's answer without a proxy. */
  direct: Arrived;
  /** The judge's answer through the proxy. */
  proxied: Arrived & { chain: string };
  /** Our own addresses, in canonical form. */
  own: ReadonlySet<string>;
}

/**
 * Reports what the proxy did to a request: `transparent` if any header shows one of our addresses, `anonymous` if
 * headers give the proxy away, otherwise `elite`. Also returns the names of added or changed headers. A load balancer
 * in front of the judge adds headers as well; those are known from the direct answer, in which we are the client.
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
      // Added by the balancer: the same text, or the same text with the proxy's address.
      if (value === usual || value === usual.replaceAll(direct.address, proxied.address)) continue;
      if (holdsAddress(value, own)) shown = true;
      // Request IDs and similar values differ each time. Only a client's address is significant.
      else if (!usual.includes(direct.address)) continue;
    } else if (holdsAddress(value, own)) shown = true;
    tampering.push(name);
  }
  if (shown) return { anonymity: 'transparent', tampering };
  return { anonymity: tampering.some((name) => PROXY_HEADER.test(name)) ? 'anonymous' : 'elite', tampering };
}

/**
 * Reports whether the answer shows all headers that something in front of the judge always adds. A forged
 * answer lacks them.
 */
export function showsUsualHeaders({ sent, direct, proxied }: Omit<Comparison, 'own'>): boolean {
  for (const name in direct.headers) {
    if (proxied.headers[name] === undefined && sent[name] === undefined && !HOP_BY_HOP.has(name))
      return false;
  }
  return true;
}

/**
 * Reports whether the text names one of the addresses: IPv4, any spelling of IPv6, mapped, in brackets, with a port.
 */
export function holdsAddress(text: string, addresses: ReadonlySet<string>): boolean {
  if (text === '' || addresses.size === 0) return false;
  for (const part of text.split(/[\s,;="'<>()]+/)) {
    const address = readAddress(part);
    if (address !== null && addresses.has(address)) return true;
  }
  return false;
}
