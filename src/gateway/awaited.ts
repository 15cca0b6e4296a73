import { ALERT, HANDSHAKE, recordFollower } from './opening.ts';

/** Fewest bytes at once with which a client asks for something; with less, it keeps or ends its connection. */
const LEAST_ASKED_BYTES = 128;
/** With no more at once, it has not asked anything; repeated requests of HTTP/2 take little more. */
const MOST_SAID_BYTES = 40;
/** Size of a record of TLS 1.3 with nothing but an alert. */
const ENCRYPTED_ALERT_BYTES = 24;
/** Records of an answer by which it is compared with others. */
const MOST_RECORDS = 8;
/** What comes later than this after the handshake, and so after the tickets, is an answer. */
const TICKETS_MS = 1_000;

/** What a client still waits for, as the records of TLS show it that pass in a tunnel. */
export class Awaited {
  /** Whether a record has begun and not ended. */
  isWithin = false;
  /** The lengths of the first records since the handshake, until the client asks again; none if it had not asked before. */
  records = '';
  /** When the client has said that it sends no more; some then wait for the answer to that, for 30 s. */
  leftAt: number | null = null;
  #left = 0;
  #beganAt = 0;
  /** When the client has asked for what nothing came after; infinite if something did. */
  #askedAt = Number.POSITIVE_INFINITY;
  readonly #follow = recordFollower((length) => {
    if (this.#left-- > 0) this.records += `${length} `;
  });

  /** Begins after the handshake, when the first bytes come. Browsers open connections ahead of any request. */
  begin(now: number): void {
    this.#beganAt = now;
    if (this.#askedAt <= now) this.#left = MOST_RECORDS;
  }

  moved(direction: 'up' | 'down', bytes: Uint8Array, now: number): void {
    if (direction === 'down') {
      this.#askedAt = Number.POSITIVE_INFINITY;
      this.isWithin = this.#follow(bytes);
      if (now - this.#beganAt >= TICKETS_MS) this.#left = 0;
      return;
    }
    const { length } = bytes;
    const isLess = length < LEAST_ASKED_BYTES;
    this.leftAt = isLess && (bytes[0] === ALERT || length === ENCRYPTED_ALERT_BYTES) ? now : null;
    if (length > MOST_SAID_BYTES && this.records !== '') this.#left = 0;
    // Up to TLS 1.2, certificates and keys of the client are as long as a request.
    if (!isLess && bytes[0] !== HANDSHAKE) this.#askedAt = now;
  }

  /**
   * Returns since when the client has waited if it asked for something that did not come; infinite if it did not. Tickets come after
   * the handshake, and look like an answer; so `cameAt`, when the latest bytes came, counts if it got only the beginning of `others`.
   */
  since(cameAt: number, others: string): number {
    const isLess = this.#left > 0 && others.startsWith(this.records);
    return isLess && others !== this.records ? cameAt : this.#askedAt;
  }
}
