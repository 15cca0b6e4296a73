import { parseIpv4 } from '../../lib/address.ts';
import { type Endpoint, formatUrl, PROTOCOLS } from '../proxy.ts';

/** The endpoints of one refresh: lists repeat each other, so that most of what they name has been seen. */
export interface Seen {
  /** True the first time that the endpoint comes. */
  add(protocol: Endpoint['protocol'], ip: string, port: number): boolean;
  readonly size: number;
}

/** A single set of a million would stop the event loop for 60 ms and more each time it grows. */
const SHARDS = 256;

/**
 * An IPv4 endpoint is 50 bits and kept as a number: a million of them take about 40 MB, where the texts would
 * take 120.
 */
export function createSeen(): Seen {
  const numbers = Array.from({ length: SHARDS }, () => new Set<number>());
  const texts = new Set<string>();
  let size = 0;

  function addTo<T>(set: Set<T> | undefined, value: T): boolean {
    const before = set?.size;
    const added = set?.add(value).size !== before;
    if (added) size++;
    return added;
  }

  return {
    add(protocol, ip, port) {
      const address = parseIpv4(ip);
      if (address < 0) return addTo(texts, formatUrl({ protocol, ip, port }));
      const number = (address * 65_536 + port) * PROTOCOLS.length + PROTOCOLS.indexOf(protocol);
      return addTo(numbers[(address ^ port) & (SHARDS - 1)], number);
    },
    get size() {
      return size;
    },
  };
}
