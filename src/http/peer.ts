import { canonicalAddress, type NetworkList } from '../lib/address.ts';

/**
 * The client's address: the peer of the socket, or, where that is a trusted proxy, the right-most entry of
 * `X-Forwarded-For` that is not itself a trusted proxy. Entries further left were written by strangers.
 */
export function clientAddress(socketPeer: string, forwardedFor: string | null, trusted: NetworkList): string {
  let address = canonicalAddress(socketPeer) ?? socketPeer;
  if (forwardedFor === null || !trusted.has(address)) return address;
  for (const entry of forwardedFor.split(',').reverse()) {
    const hop = canonicalAddress(withoutPort(entry.trim()));
    if (hop === null) break;
    address = hop;
    if (!trusted.has(hop)) break;
  }
  return address;
}

/** Some proxies write `203.0.113.9:4711` or `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? [];
  return bracketed ?? plain ?? entry;
}
