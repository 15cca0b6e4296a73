import { Draw } from './draw.ts';
import type { Upstream } from './upstream.ts';

interface Entry {
  upstream: Upstream;
}

/** All upstreams that carry one kind of traffic, whatever anyone has seen of them. */
export class Roster {
  readonly #entries = new Map<string, Entry>();
  readonly #draw: Draw<Entry>;

  /** @param random 0 to 1 */
  constructor(random: () => number) {
    this.#draw = new Draw(random);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Upstream | undefined {
    return this.#entries.get(key)?.upstream;
  }

  /** Adds an upstream, or replaces what is known about it. */
  set(upstream: Upstream): void {
    const known = this.#entries.get(upstream.key);
    if (known) {
      known.upstream = upstream;
      return;
    }
    const entry = { upstream };
    this.#entries.set(upstream.key, entry);
    this.#draw.add(entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#draw.delete(entry);
  }

  /** Returns any of them, or `undefined` if there is none. */
  any(): Upstream | undefined {
    return this.#draw.any()?.upstream;
  }

  *[Symbol.iterator](): Generator<Upstream> {
    for (const { upstream } of this.#entries.values()) yield upstream;
  }
}
