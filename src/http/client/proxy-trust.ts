import { canonicalAddress, createNetworkList } from '../../lib/address.ts';
import { remember } from '../../lib/bounded-map.ts';

/** Number of addresses for which the result is remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * Trusts these addresses and networks. `isSocket`: the server listens on a Unix socket, whose peers have no address
 * and are trusted as well.
 * @throws {RangeError} with the first invalid entry.
 */
export function createProxyTrust(entries: readonly string[], isSocket = false) {
  const networks = createNetworkList(entries);
  const single = entries
    .map((entry) => canonicalAddress(entry.replace(/\/(32|128)$/, '')))
    .filter((address) => address !== null);
  const named = new Set(single);
  const isEmpty = entries.length === 0 && !isSocket;
  const has = remember(MAX_REMEMBERED, (address) => (address === '' ? isSocket : networks.has(address)));
  return {
    isEmpty,
    /** Reports whether the forwarding headers of an address are trusted. */
    has: isEmpty ? () => false : has,
    /** Reports whether the address was named itself, rather than a network that may also contain visitors. */
    isNamed: (address: string) => named.has(address),
  };
}

/** The trusted reverse proxies, according to the settings. */
export type ProxyTrust = ReturnType<typeof createProxyTrust>;
