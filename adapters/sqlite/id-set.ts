/** IDs of one block, one bit each. */
const BLOCK_BITS = 32_768;

/** A set of positive integers that are close together: 200,000 of them take 25 kB. */
interface IdSet {
  /** Returns false if it was already in the set. */
  add(id: number): boolean;
}

export function createIdSet(): IdSet {
  const blocks = new Map<number, Uint8Array>();
  return {
    add(id) {
      const number = Math.floor(id / BLOCK_BITS);
      let block = blocks.get(number);
      if (!block) {
        block = new Uint8Array(BLOCK_BITS / 8);
        blocks.set(number, block);
      }
      const place = id % BLOCK_BITS;
      const bit = 1 << (place & 7);
      const bits = block[place >> 3] ?? 0;
      block[place >> 3] = bits | bit;
      return (bits & bit) === 0;
    },
  };
}
