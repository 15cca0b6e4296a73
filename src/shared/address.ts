import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * IPv4 networks that are not globally reachable, from the IANA IPv4 Special-Purpose Address Registry,
 * plus multicast and the former class E.
 */
const NON_GLOBAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Global unicast is 2000::/3 alone; mapped, NAT64, unique-local and link-local addresses lie outside it. */
const GLOBAL_IPV6 = ['2000::/3'];

/** Parts of 2000::/3 that are not globally reachable or wrap an IPv4 address (IANA IPv6 registry; 6to4, Teredo). */
const NON_GLOBAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

/** A set of networks that an address can be looked up in. */
export interface NetworkList {
  has(address: string): boolean;
}

/**
 * Builds a network list from addresses and CIDR networks.
 * @throws {RangeError} naming the first entry that is neither.
 */
export function createNetworkList(networks: readonly string[]): NetworkList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address);
    const bits = family === 4 ? 32 : 128;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (family === 0 || length < 0 || length > bits) {
      throw new RangeError(`"${network}" is neither an IP address nor a network such as 10.0.0.0/8`);
    }
    list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6');
  }
  return {
    has(address) {
      if (isIPv4(address)) return list.check(address, 'ipv4');
      return isIPv6(address) && !address.includes('%') && list.check(address, 'ipv6');
    },
  };
}

const nonGlobalIpv4 = createNetworkList(NON_GLOBAL_IPV4);
const globalIpv6 = createNetworkList(GLOBAL_IPV6);
const nonGlobalIpv6 = createNetworkList(NON_GLOBAL_IPV6);

/**
 * The one spelling of an address, or `null` where the text is not a literal IPv4 or IPv6 address.
 * IPv4-mapped IPv6 becomes IPv4, IPv6 is compressed and in lower case. Leading zeros, decimal,
 * octal and hexadecimal spellings of IPv4 and zone ids are not addresses.
 */
export function canonicalAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  if (!isIPv6(text) || text.includes('%')) return null;
  const compressed = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  if (!mapped) return compressed;
  const high = Number.parseInt(mapped[1] ?? '', 16);
  const low = Number.parseInt(mapped[2] ?? '', 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** True for an address that the public internet routes: not private, loopback, reserved, multicast or wrapped. */
export function isGloballyRoutable(address: string): boolean {
  if (isIPv4(address)) return !nonGlobalIpv4.has(address);
  return globalIpv6.has(address) && !nonGlobalIpv6.has(address);
}
