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

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }
}
