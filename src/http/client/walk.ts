import { canonicalAddress } from '../../lib/address.ts';
import { remember } from '../../lib/remember.ts';
import type { ProxyTrust } from './proxy-trust.ts';

/** What the addresses in front of a request say of its client. */
export interface Walk {
  /** The client's address. */
  address: string;
  /** True if the peer is a trusted proxy, whose headers are believed. */
  believed: boolean;
  /** False if a proxy that was passed over is not a trusted one, or too few have added an address. */
  sure: boolean;
}

/** Peers whose address is remembered: most requests come over a connection that is open. */
const MAX_PEERS = 10_000;
const canonicalPeer = remember(MAX_PEERS, (peer) => canonicalAddress(peer) ?? peer);

/**
 * Finds the client: the peer of the socket, or, where that is a trusted proxy, an entry of `X-Forwarded-For`, which each
 * proxy appends to. Entries are read from the right, and those of proxies that were named by their address are passed
 * over; the first other one is the client, even inside a trusted network, for visitors may come from there as well. With
 * `hops`, the number of proxies in front, the entry at that place is the client.
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
