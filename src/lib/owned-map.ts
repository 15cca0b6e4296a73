/**
 * A map of at most `most` entries, each of which belongs to an owner. Setting a key makes it the newest. Above the limit,
 * the owner with most entries loses the oldest one, so that nobody can make others lose theirs.
 */
export class OwnedMap<V> {
  readonly #most: number;
  readonly #onForgotten: (owner: string, value: V) => void;
  readonly #books = new Map<string, Map<string, V>>();
  #size = 0;

  /** `onForgotten`: called with what is lost above the limit. Default: nobody is told. */
  constructor(most: number, onForgotten: (owner: string, value: V) => void = () => {}) {
    this.#most = most;
    this.#onForgotten = onForgotten;
  }

  get owners(): number {
    return this.#books.size;
  }

  get(owner: string, key: string): V | undefined {
    return this.#books.get(owner)?.get(key);
  }

  set(owner: string, key: string, value: V): void {
    this.delete(owner, key);
    const book = this.#books.get(owner) ?? new Map<string, V>();
    this.#books.set(owner, book.set(key, value));
    if (++this.#size > this.#most) this.#forgetOne();
  }

  delete(owner: string, key: string): void {
    const book = this.#books.get(owner);
    if (!book?.delete(key)) return;
    this.#size--;
    if (book.size === 0) this.#books.delete(owner);
  }

  /** Returns the entries of one owner, or `undefined` without any. */
  of(owner: string): ReadonlyMap<string, V> | undefined {
    return this.#books.get(owner);
  }

  /** Returns the entries of each owner. */
  all(): Iterable<ReadonlyMap<string, V>> {
    return this.#books.values();
  }

  #forgetOne(): void {
    let largest: [owner: string, size: number] = ['', 0];
    for (const [owner, { size }] of this.#books) if (size > largest[1]) largest = [owner, size];
    const [owner] = largest;
    for (const [oldest, value] of this.#books.get(owner) ?? []) {
      this.delete(owner, oldest);
      this.#onForgotten(owner, value);
      return;
    }
  }
}
