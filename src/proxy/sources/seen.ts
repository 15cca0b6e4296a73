/** A set of the endpoint keys of one refresh, because lists repeat each other. */
interface Seen {
  /** Returns true the first time a key is added. */
  add(key: number): boolean;
  has(key: number): boolean;
  readonly size: number;
}

/** A single set of a million would block the event loop for 60 ms and more each time it grows. */
const SHARDS = 251;

/** Creates an empty set. A million keys take about 40 MB. */
export function createSeen(): Seen {
  const shards = Array.from({ length: SHARDS }, () => new Set<number>());
  let size = 0;
  // Keys of one address differ only in the lowest digits, those of one network in the middle ones.
  const shardOf = (key: number) => shards[Math.floor(key / 5) % SHARDS] ?? new Set<number>();

  return {
    add(key) {
      const shard = shardOf(key);
      const before = shard.size;
      if (shard.add(key).size === before) return false;
      size++;
      return true;
    },
    has: (key) => shardOf(key).has(key),
    get size() {
      return size;
    },
  };
}
