import { canonicalAddress, createNetworkList } from '../../lib/address.ts';
import { remember } from '../../lib/remember.ts';

/** Addresses of which it is remembered whether they are trusted. */
const MAX_REMEMBERED = 10_000;

/** The proxies in front of the server, as its settings name them. */
export interface ProxyTrust {
  /** True if no address is. */
  readonly isEmpty: boolean;
  /** True for an address whose forwarding headers are believed. */
  has(address: string): boolean;
  /** True for one that was named on its own, and not by a network that may hold visitors as well. */
  isNamed(address: string): boolean;
}

/**
 * Trusts these addresses and networks. `isSocket`: the server listens on a socket of the file system, whose peers have no
 * address and are trusted as well.
 * @throws {RangeError} naming the first entry that is neither.
 */
export function createProxyTrust(entries: readonly string[], isSocket = false): ProxyTrust {
  const networks = createNetworkList(entries);
  const single = entries
    .map((entry) => canonicalAddress(entry.replace(/\/(32|128)$/, '')))
    .filter((address) => address !== null);
  const named = new Set(single);
  return {
    isEmpty: entries.length === 0 && !isSocket,
    has: remember(MAX_REMEMBERED, (address) => (address === '' ? isSocket : networks.has(address))),
    isNamed: (address) => named.has(address),
  };
}
