const NOTHING = Buffer.alloc(0);

/**
 * Takes what it reads from the inbox. Returns `undefined` until all of it has arrived. Throws a `CheckFault`
 * or a `MessageFault` for invalid data.
 */
export type Reader<T> = (inbox: Inbox) => T | undefined;

/**
 * The bytes that have arrived and were not taken yet. Until there are enough bytes, each method returns
 * `undefined` and takes nothing.
 */
export class Inbox {
  /** Beyond `#end` there may be room. Bytes that were handed out are never overwritten. */
  #bytes: Buffer = NOTHING;
  /** Number of bytes already taken. */
  #start = 0;
  #end = 0;
  /** True once nothing can follow. */
  ended = false;

  get isEmpty(): boolean {
    return this.#start === this.#end;
  }

  /** Number of bytes available. */
  get size(): number {
    return this.#end - this.#start;
  }

  add(chunk: Buffer): void {
    if (this.isEmpty) {
      this.#bytes = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      return;
    }
    if (this.#end + chunk.length > this.#bytes.length) this.#makeRoom(chunk.length);
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /** Returns the next `count` bytes without taking them. */
  peek(count: number): Buffer | undefined {
    const end = this.#start + count;
    return end > this.#end ? undefined : this.#part(end);
  }

  /** Takes exactly `count` bytes. */
  take(count: number): Buffer | undefined {
    const bytes = this.peek(count);
    if (bytes !== undefined) this.#start += count;
    return bytes;
  }

  /** Returns the remaining bytes without taking them. */
  view(): Buffer {
    return this.#part(this.#end);
  }

  /** Takes the remaining bytes. */
  remainder(): Buffer {
    const rest = this.view();
    this.#start = this.#end;
    return rest;
  }

  /** Doubles, so that bytes that come one by one are not copied again with each. */
  #makeRoom(more: number): void {
    const bytes = Buffer.allocUnsafe(2 * (this.size + more));
    this.#end = this.#bytes.copy(bytes, 0, this.#start, this.#end);
    this.#start = 0;
    this.#bytes = bytes;
  }

  /** A view takes about 1 us to create, and usually all the bytes of one piece are wanted. */
  #part(end: number): Buffer {
    const isAll = this.#start === 0 && end === this.#bytes.length;
    return isAll ? this.#bytes : this.#bytes.subarray(this.#start, end);
  }
}
