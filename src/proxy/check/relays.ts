import { BoundedMap } from '../../lib/bounded-map.ts';

/** Maximum number of proxies remembered, which takes 5 MB. */
const MOST = 50_000;

/** How long a delivered part of a witness's file counts. */
const BELIEVED_MS = { least: 3_600_000, most: 3 * 3_600_000 } as const;

/**
 * Remembers which proxies have recently shown that they relay. The memory belongs to this process: after a
 * start, all have to show it again.
 */
export interface Relays {
  has(proxy: string): boolean;
  add(proxy: string): void;
  forget(proxy: string): void;
}

export function createRelays(monotonic: () => number): Relays {
  const until = new BoundedMap<string, number>(MOST);
  return {
    has: (proxy) => (until.get(proxy) ?? Number.NEGATIVE_INFINITY) > monotonic(),
    add(proxy) {
      const { least, most } = BELIEVED_MS;
      // A random time, so that proxies cannot predict when they are asked.
      until.set(proxy, monotonic() + least + Math.random() * (most - least));
    },
    forget: (proxy) => void until.delete(proxy),
  };
}
