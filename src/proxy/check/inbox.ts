import { CheckFault } from './fault.ts';

const NOTHING = Buffer.alloc(0);

/** Takes what it reads from the inbox: `undefined` until all of it is there. Throws a `CheckFault` at what must not be. */
export type Reader<T> = (inbox: Inbox) => T | undefined;

/**
 * The bytes that have come in and were not taken yet. Each method answers `undefined` while there are not enough, and
 * takes nothing then.
 */
export class Inbox {
  #bytes: Buffer = NOTHING;
  /** How many of them have been taken. */
  #start = 0;
  /** True once nothing can follow. */
  ended = false;

  get isEmpty(): boolean {
    return this.#start === this.#bytes.length;
  }

  /** How many bytes there are. */
  get size(): number {
    return this.#bytes.length - this.#start;
  }

  add(chunk: Buffer): void {
    this.#bytes = this.isEmpty ? chunk : Buffer.concat([this.#bytes.subarray(this.#start), chunk]);
    this.#start = 0;
  }

  /** The next `count` bytes, which stay. */
  peek(count: number): Buffer | undefined {
    const end = this.#start + count;
    return end > this.#bytes.length ? undefined : this.#part(end);
  }

  /** Exactly `count` bytes. */
  take(count: number): Buffer | undefined {
    const bytes = this.peek(count);
    if (bytes !== undefined) this.#start += count;
    return bytes;
  }

  /**
   * The text before the first `marker`, a byte a character; the marker is taken as well.
   * @throws {CheckFault} `protocol_error` for more than `maxBytes`.
   */
  until(marker: Buffer, maxBytes: number): string | undefined {
    const start = this.#start;
    const at = this.#bytes.indexOf(marker, start);
    if ((at < 0 ? this.#bytes.length : at) - start > maxBytes) {
      throw new CheckFault('protocol_error', 'too many header bytes');
    }
    if (at < 0) return undefined;
    this.#start = at + marker.length;
    return this.#bytes.toString('latin1', start, at);
  }

  /** Exactly `count` bytes as UTF-8: straight from what came in, as a view of the bytes would cost more than their text. */
  text(count: number): string | undefined {
    const start = this.#start;
    if (start + count > this.#bytes.length) return undefined;
    this.#start += count;
    return this.#bytes.toString('utf8', start, this.#start);
  }

  /** Whatever is left; it stays. */
  view(): Buffer {
    return this.#part(this.#bytes.length);
  }

  /** Takes whatever is left. */
  remainder(): Buffer {
    const rest = this.view();
    this.#start = this.#bytes.length;
    return rest;
  }

  /**
   * How many bytes there are until the other side's end, once it has ended.
   * @throws {CheckFault} `bad_answer` for more than `maxBytes`.
   */
  rest(maxBytes: number): number | undefined {
    const count = this.size;
    if (count > maxBytes) throw new CheckFault('bad_answer', 'too long an answer');
    return this.ended ? count : undefined;
  }

  /** A view takes about 1 us to make; mostly what is wanted is all that came in one piece. */
  #part(end: number): Buffer {
    const isAll = this.#start === 0 && end === this.#bytes.length;
    return isAll ? this.#bytes : this.#bytes.subarray(this.#start, end);
  }
}
