/** Items after which a rank below 1 is low enough. */
const LOOKED = 500;

/** Things with a key, from which random ones can be drawn in constant time. */
export class Draw<T extends { readonly key: string }> {
  readonly #items: T[] = [];
  readonly #places = new Map<string, number>();
  readonly #random: () => number;

  /** `random`: 0 to 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  get size(): number {
    return this.#items.length;
  }

  get(key: string): T | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#items[place];
  }

  /** Adds an item, or replaces the one with its key. */
  set(item: T): void {
    const place = this.#places.get(item.key) ?? this.#items.length;
    this.#places.set(item.key, place);
    this.#items[place] = item;
  }

  delete(key: string): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    this.#places.delete(key);
    const last = this.#items.pop();
    if (last === undefined || place === this.#items.length) return;
    this.#items[place] = last;
    this.#places.set(last.key, place);
  }

  /**
   * Returns up to `most` items, from a random one on, of the lowest rank that any has. `rankOf`: 0 or more, or
   * `undefined` for what is left out. It stops at enough of rank 0, or, after some hundred items, of one below 1.
   */
  some(most: number, rankOf: (item: T) => number | undefined): T[] {
    let found: T[] = [];
    let lowest = Number.POSITIVE_INFINITY;
    const { length } = this.#items;
    const start = Math.floor(this.#random() * length);
    const isEnough = (n: number) => found.length === most && lowest < (n < LOOKED ? Number.MIN_VALUE : 1);
    for (let n = 0; n < length && !isEnough(n); n++) {
      const item = this.#items[(start + n) % length];
      const rank = item && rankOf(item);
      if (item === undefined || rank === undefined || rank > lowest) continue;
      if (rank < lowest) found = [];
      lowest = rank;
      if (found.length < most) found.push(item);
    }
    return found;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }
}

/** Returns the first of those with the least value. */
export function leastOf<T>(items: readonly T[], worthOf: (item: T) => number): T | undefined {
  let [best, least] = [items[0], Number.POSITIVE_INFINITY];
  for (const item of items) {
    const value = worthOf(item);
    if (value < least) [best, least] = [item, value];
  }
  return best;
}
