import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * IPv4 networks that are not globally reachable, from the IANA IPv4 Special-Purpose Address Registry, plus multicast,
 * the former class E, and the one cloud metadata service with a public address (168.63.129.16 is the Azure host
 * itself, as seen from a virtual machine).
 */
const NON_GLOBAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
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

const DOT = 46;

/** Parts of 2000::/3 that are not globally reachable or wrap an IPv4 address (IANA IPv6 registry; 6to4, Teredo). */
const NON_GLOBAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

/**
 * Creates a network list from addresses and CIDR networks.
 * @throws {RangeError} with the first invalid entry.
 */
export function createNetworkList(networks: readonly string[]) {
  // In one list, Bun would also find IPv4 addresses in a network of IPv6 that is large enough, such as `::/0`.
  const [four, six] = [new BlockList(), new BlockList()];
  for (const network of networks) {
    const [written = '', prefix = '0'] = network.split('/');
    if (isIP(written) === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (isIPv4(written) ? 32 : 128)) {
      throw new RangeError(`"${network}" is neither an IP address nor a network such as 10.0.0.0/8`);
    }
    const [address = '', length] = canonicalNetwork(network).split('/');
    if (isIPv4(address)) four.addSubnet(address, Number(length ?? 32), 'ipv4');
    else six.addSubnet(address, Number(length ?? 128), 'ipv6');
  }
  return {
    has(address: string): boolean {
      if (isIPv4(address)) return four.check(address, 'ipv4');
      const isWhole = isIPv6(address) && !address.includes('%');
      return isWhole && [four, six].some((list) => list.check(address, 'ipv6'));
    },
  };
}

/** A set of networks in which addresses can be looked up. */
export type NetworkList = ReturnType<typeof createNetworkList>;

/** Returns a spelling that all ways to write an address or network share, such as `2001:db8::/32`; other text as it is. */
export function canonicalNetwork(network: string): string {
  const [written = '', prefix] = network.split('/');
  const address = canonicalAddress(written);
  if (address === null) return network;
  const bits = isIPv4(address) ? 32 : 128;
  const length = prefix === undefined ? bits : Number(prefix) - (isIPv4(written) || bits === 128 ? 0 : 96);
  // Such as `::ffff:0:0/90`, which is more than IPv4.
  if (length < 0) return network;
  return length === bits ? address : `${address}/${length}`;
}

/** Base and mask of each network as signed 32-bit integers, because a list of proxies causes a million lookups. */
const nonGlobalIpv4 = NON_GLOBAL_IPV4.map((network) => {
  const [address = '', prefix] = network.split('/');
  return { base: parseIpv4(address) | 0, mask: -1 << (32 - Number(prefix)) };
});
/** Global unicast. Mapped, NAT64, unique-local and link-local addresses are outside it. */
const globalIpv6 = createNetworkList(['2000::/3']);
const nonGlobalIpv6 = createNetworkList(NON_GLOBAL_IPV6);
export const LOOPBACK = createNetworkList(['127.0.0.0/8', '::1']);

/**
 * Returns the canonical spelling of an address, or `null` if the text is not a literal IPv4 or IPv6 address.
 * IPv4-mapped IPv6 becomes IPv4, IPv6 is compressed and in lower case. IPv4 with leading zeros or in decimal, octal
 * or hexadecimal form, and zone IDs, are not accepted.
 */
export function canonicalAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  // Bun spells every IPv4 peer this way, so this runs for each request.
  if (text.startsWith('::ffff:') && isIPv4(text.slice(7))) return text.slice(7);
  if (!isIPv6(text) || text.includes('%')) return null;
  const compressed = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  if (!mapped) return compressed;
  const high = Number.parseInt(mapped[1] ?? '', 16);
  const low = Number.parseInt(mapped[2] ?? '', 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Returns an IPv4 address as an unsigned 32-bit integer, or -1 if the text is not dotted decimal. */
export function parseIpv4(text: string): number {
  let address = 0;
  let octet = 0;
  let digits = 0;
  let dots = 0;
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : DOT;
    if (code >= 48 && code <= 57) {
      if (digits > 0 && octet === 0) return -1;
      octet = octet * 10 + code - 48;
      digits++;
      if (octet > 255) return -1;
    } else if (code === DOT && digits > 0 && dots < 4) {
      address = address * 256 + octet;
      octet = 0;
      digits = 0;
      dots++;
    } else return -1;
  }
  return dots === 4 ? address : -1;
}

/** Like `isGloballyRoutable`, for an IPv4 address that is already a 32-bit integer. */
export function isGloballyRoutableIpv4(address: number): boolean {
  for (const { base, mask } of nonGlobalIpv4) {
    if ((address & mask) === base) return false;
  }
  return true;
}

/** Reports whether the public internet routes an address: not private, loopback, reserved, multicast or wrapped. */
export function isGloballyRoutable(address: string): boolean {
  const ipv4 = parseIpv4(address);
  if (ipv4 !== -1) return isGloballyRoutableIpv4(ipv4);
  return globalIpv6.has(address) && !nonGlobalIpv6.has(address);
}

/**
 * Returns the network that stands for one client: an IPv4 address itself, or the /64 of an IPv6 address, which one
 * customer usually holds. Expects canonical addresses; other text is returned unchanged.
 */
export function clientNetwork(address: string): string {
  if (!address.includes(':')) return address;
  return `${groupsOf(address).slice(0, 4).join(':')}::/64`;
}

/**
 * Returns the networks that providers usually assign as a whole: the /24 of an IPv4 address, the /56 and /48 of an
 * IPv6 address. Expects canonical addresses; other text is returned unchanged.
 */
export function sharedNetworks(address: string): string[] {
  if (!address.includes(':')) {
    return [isIPv4(address) ? `${address.slice(0, address.lastIndexOf('.'))}.0/24` : address];
  }
  const [first, second, third, fourth = '0'] = groupsOf(address);
  const high = (Number.parseInt(fourth, 16) & 0xff00).toString(16);
  return [`${first}:${second}:${third}:${high}::/56`, `${first}:${second}:${third}::/48`];
}

/** Returns the eight groups of a canonical IPv6 address. */
export function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  return [...first, ...Array<string>(zeros).fill('0'), ...last];
}

/** Returns a host as it is written before a port: an IPv6 address in brackets. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Returns the host name of a URL without the brackets around an IPv6 address. */
export function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

const LONGEST_NAME = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Reports whether a text is a host name in lower case, with at least two labels, of which the last is not a number. */
export function isHostName(text: string): boolean {
  if (text.length > LONGEST_NAME || !/\.[a-z][a-z0-9-]+$/.test(text)) return false;
  return text.split('.').every((label) => LABEL.test(label));
}
