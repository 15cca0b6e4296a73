import { parseIpv4 } from '../../lib/address.ts';
import { type Endpoint, PROTOCOLS, type Protocol } from '../proxy.ts';

/** The protocol that a list gives for an entry; `any` if it names none, so that each is tried. */
export type Kind = Protocol | 'any';

const KINDS: readonly Kind[] = [...PROTOCOLS, 'any'];
const PORTS = 65_536;
/** Larger than the keys of all IPv4 endpoints. */
const HASHED = 2 ** 51;

/**
 * Encodes an endpoint as one number, so that a million of them take megabytes instead of hundreds. For IPv4
 * the number is the endpoint itself, for IPv6 a hash: two of a billion collide.
 */
export function keyOf(kind: Kind, ip: string, port: number): number {
  const address = parseIpv4(ip);
  if (address < 0) return HASHED + hashOf(`${kind} ${ip} ${port}`);
  return (address * PORTS + port) * KINDS.length + KINDS.indexOf(kind);
}

/** Returns the IPv4 endpoint of a key, or `null` if the key is a hash. */
export function endpointOf(key: number): (Omit<Endpoint, 'protocol'> & { kind: Kind }) | null {
  if (key >= HASHED) return null;
  const kind = KINDS[key % KINDS.length] ?? 'any';
  const rest = Math.floor(key / KINDS.length);
  const address = Math.floor(rest / PORTS);
  const ip = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
  return { kind, ip, port: rest % PORTS };
}

export function createCrowd(most: number) {
  const working = new Map<number, number>();
  const networkOf = (key: number) => Math.floor(key / (KINDS.length * PORTS * 256));
  const count = (key: number) => (key >= HASHED ? 0 : (working.get(networkOf(key)) ?? 0));
  return {
    add: (key: number) => void working.set(networkOf(key), count(key) + 1),
    /** Reports whether the network of the key has as many working proxies as one may have. */
    isFull: (key: number) => count(key) >= most,
  };
}

/** Working proxies by IPv4 /24, so that one server which answers on all its ports does not fill the pool. */
export type Crowd = ReturnType<typeof createCrowd>;

/** Computes FNV-1a over two halves: 52 bits. */
function hashOf(text: string): number {
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  for (let i = 0; i < text.length; i++) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(i), 0x85ebca6b);
  }
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}

/** Returns a number from 0 to 2^32 that depends on every bit of key and seed. */
export function mix(key: number, seed: number): number {
  const high = Math.floor(key / 2 ** 26);
  const low = key - high * 2 ** 26;
  let state = Math.imul(low ^ seed, 0x9e3779b1);
  state = Math.imul(state ^ (state >>> 15) ^ high, 0x85ebca77);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae3d);
  state = Math.imul(state ^ (state >>> 16) ^ seed, 0x27d4eb2f);
  return (state ^ (state >>> 15)) >>> 0;
}

/** A single set of a million would block the event loop for 60 ms and more each time it grows. */
const SHARDS = 251;

/** Creates a set of the endpoint keys of one refresh, because lists repeat each other. A million keys take about 40 MB. */
export function createSeen() {
  const shards = Array.from({ length: SHARDS }, () => new Set<number>());
  let size = 0;
  // Keys of one address differ only in the lowest digits, those of one network in the middle ones.
  const shardOf = (key: number) => shards[Math.floor(key / 5) % SHARDS] ?? new Set<number>();

  return {
    /** Returns true the first time a key is added. */
    add(key: number): boolean {
      const shard = shardOf(key);
      const before = shard.size;
      if (shard.add(key).size === before) return false;
      size++;
      return true;
    },
    has: (key: number) => shardOf(key).has(key),
    get size(): number {
      return size;
    },
  };
}
