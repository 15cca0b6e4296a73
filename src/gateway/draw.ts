/** A set from which random members can be drawn in constant time. */
export class Draw<T> {
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();
  readonly #random: () => number;

  /** @param random 0 to 1 */
  constructor(random: () => number) {
    this.#random = random;
  }

  get size(): number {
    return this.#items.length;
  }

  has(item: T): boolean {
    return this.#places.has(item);
  }

  add(item: T): void {
    if (this.#places.has(item)) return;
    this.#places.set(item, this.#items.push(item) - 1);
  }

  delete(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[place] = last;
    this.#places.set(last, place);
  }

  /** Returns any member, or `undefined` if the set is empty. */
  any(): T | undefined {
    return this.#items[Math.floor(this.#random() * this.#items.length)];
  }

  /** Returns up to `most` members that pass the test, from a random one on; if no more pass, all that do. */
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
}
