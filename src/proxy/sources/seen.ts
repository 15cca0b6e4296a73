/** Numbers, each once: the keys of the endpoints of one refresh, as lists repeat each other. */
export interface Seen {
  /** True the first time that the key comes. */
  add(key: number): boolean;
  has(key: number): boolean;
  readonly size: number;
}

/** A single set of a million would stop the event loop for 60 ms and more each time it grows. */
const SHARDS = 251;

/** A million take about 40 MB. */
export function createSeen(): Seen {
  const shards = Array.from({ length: SHARDS }, () => new Set<number>());
  let size = 0;
  // Keys of one address differ in the lowest digits alone, those of one network in the middle ones.
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
