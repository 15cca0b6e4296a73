/** Things by a key of their own, from which random ones can be drawn in constant time. */
export class Draw<T extends object> {
  readonly #items: T[] = [];
  readonly #places = new Map<string, number>();
  readonly #keyOf: (item: T) => string;
  readonly #random: () => number;

  /** `random`: 0 to 1. */
  constructor(random: () => number, keyOf: (item: T) => string) {
    this.#random = random;
    this.#keyOf = keyOf;
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
    const key = this.#keyOf(item);
    const place = this.#places.get(key) ?? this.#items.length;
    this.#places.set(key, place);
    this.#items[place] = item;
  }

  delete(key: string): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    this.#places.delete(key);
    const last = this.#items.pop();
    if (last === undefined || place === this.#items.length) return;
    this.#items[place] = last;
    this.#places.set(this.#keyOf(last), place);
  }

  /** Returns up to `most` items that pass the test, from a random one on; if no more pass, all that do. */
  some(most: number, test: (item: T) => boolean): T[] {
    const found: T[] = [];
    const { length } = this.#items;
    const start = Math.floor(this.#random() * length);
    for (let n = 0; n < length && found.length < most; n++) {
      const item = this.#items[(start + n) % length];
      if (item !== undefined && test(item)) found.push(item);
    }
    return found;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }
}
