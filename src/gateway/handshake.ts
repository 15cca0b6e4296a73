import type { EndedBy } from './relay.ts';
import type { Failure } from './upstream.ts';

/**
 * A client that ends after fewer bytes has sent at most an alert, because the end of a handshake takes more: it did
 * not trust the certificate.
 */
const LEAST_FINISHED_BYTES = 40;
/** A handshake that stands still for this long before the client goes on has failed. */
const STALLED_MS = 5_000;
/** The same while the target may be working on an answer. */
const SILENT_MS = 15_000;
/** A client that leaves without a word sooner than this after the last bytes does so for reasons of its own. */
const WAITED_MS = 1_000;

interface HandshakeOptions {
  /** True if a ServerHello has come back; false for protocols that are not known. */
  greeted: boolean;
  now: number;
  /** Called once when the client has gone on, and got more. */
  onProven: () => void;
  /** Called before it is proven: when it stands still, and when it ends so. */
  onFailed: (why: Failure) => void;
}

/**
 * Decides what a tunnel says about its upstream. Anyone can send a prepared ServerHello. Only a client that accepts
 * what follows goes on, so the upstream is proven by what comes back after that, and by nothing before.
 */
export class Handshake {
  readonly #options: HandshakeOptions;
  #greeted = false;
  #proven = false;
  #failed = false;
  /** Bytes of the client since the greeting. */
  #up = 0;
  #movedAt: number;

  constructor(options: HandshakeOptions) {
    this.#options = options;
    this.#movedAt = options.now;
  }

  moved(direction: 'up' | 'down', bytes: number, now: number): void {
    this.#movedAt = now;
    if (this.#proven || bytes === 0) return;
    if (direction === 'up') {
      if (this.#greeted) this.#up += bytes;
    } else if (this.#up >= LEAST_FINISHED_BYTES) {
      this.#proven = true;
      this.#options.onProven();
    } else this.#greeted = true;
  }

  /** Counts a handshake that stands still as failed. Returns whether its client has waited this long for the rest of the greeting. */
  look(now: number, mostMs = Number.POSITIVE_INFINITY): boolean {
    const isFinished = this.#up >= LEAST_FINISHED_BYTES;
    const ms = this.#options.greeted ? now - this.#movedAt : 0;
    if (!this.#failed && ms >= (isFinished ? SILENT_MS : STALLED_MS)) this.#fail('timeout');
    return !isFinished && ms >= mostMs;
  }

  /** Returns whether it has failed. */
  ended(endedBy: EndedBy, now: number): boolean {
    const isFinished = this.#up >= LEAST_FINISHED_BYTES;
    if (!this.#options.greeted) {
      // The target may have had enough of a client that says nothing.
      const wasAwaited = this.#movedAt > this.#options.now || now - this.#movedAt < WAITED_MS;
      if (endedBy === 'upstream' && !this.#greeted && wasAwaited) this.#fail('closed');
    } else if (endedBy === 'upstream') this.#fail(isFinished ? 'closed' : 'distrusted');
    else if (endedBy === 'client' && !isFinished) {
      if (this.#up > 0 || now - this.#movedAt >= WAITED_MS) this.#fail('distrusted');
    } else this.look(now);
    return this.#failed && !this.#proven;
  }

  #fail(why: Failure): void {
    if (this.#proven) return;
    this.#failed = true;
    this.#options.onFailed(why);
  }
}
