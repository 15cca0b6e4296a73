import { canonicalAddress } from '../../lib/address.ts';
import { remember } from '../../lib/remember.ts';
import type { ProxyTrust } from './proxy-trust.ts';

/** What the addresses of a request say about its client. */
interface Walk {
  /** The client's address. */
  address: string;
  /** True if the peer is a trusted proxy, whose headers are used. */
  believed: boolean;
  /** False if a skipped proxy is not trusted, or too few proxies have added an address. */
  sure: boolean;
}

/** Number of peers whose address is remembered: most requests use an open connection. */
const MAX_PEERS = 10_000;
const canonicalPeer = remember(MAX_PEERS, (peer) => canonicalAddress(peer) ?? peer);

/**
 * Finds the client: the peer of the socket or, if that is a trusted proxy, an entry of `X-Forwarded-For`, to which
 * each proxy appends. Entries are read from the right, skipping proxies that were named by address. The first other
 * entry is the client, even inside a trusted network, because visitors may also come from there. With `hops`, the
 * number of proxies in front, the client is the entry at that position.
 */
export function findClient(
  socketPeer: string,
  forwardedFor: string | null,
  trust: ProxyTrust,
  hops?: number,
): Walk {
  let address = canonicalPeer(socketPeer);
  if (!trust.has(address)) return { address, believed: false, sure: true };
  const entries = forwardedFor?.split(',') ?? [];
  let sure = true;
  for (let place = 1; ; place++) {
    const hop = canonicalAddress(withoutPort(entries.at(-place)?.trim() ?? ''));
    if (hop === null) return { address, believed: true, sure: false };
    address = hop;
    if (hops === undefined ? !trust.isNamed(hop) : place >= hops) return { address, believed: true, sure };
    if (!trust.has(hop)) sure = false;
  }
}

/** Some proxies write `203.0.113.9:4711` or `[2001:db8::1]:4711`. */
export function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? [];
  return bracketed ?? plain ?? entry;
}
