import { ALERT, HANDSHAKE, recordFollower } from './opening.ts';

/** Fewest bytes at once with which a client asks for something; with fewer, it keeps or ends its connection. */
const LEAST_ASKED_BYTES = 128;
/** With no more at once, it has not asked anything; repeated requests of HTTP/2 take little more. */
const MOST_SAID_BYTES = 40;
/** Size of a record of TLS 1.3 with nothing but an alert. */
const ENCRYPTED_ALERT_BYTES = 24;
/** Records of an answer by which it is compared with others. */
const MOST_RECORDS = 8;
/** What comes later than this after the handshake, and so after the tickets, is an answer. */
const TICKETS_MS = 1_000;

/** What a client still waits for, as the TLS records that pass in a tunnel show it. */
export class Awaited {
  /** Whether a record has begun and not ended. */
  isWithin = false;
  /** The lengths of the first records since the handshake, until the client asks again; none if it had not asked before. */
  records = '';
  /** When the client has said that it sends no more; some then wait for the answer to that, for 30 s. */
  leftAt: number | null = null;
  #left = 0;
  #beganAt = 0;
  /** When the client asked, if nothing has come since; infinite if something has. */
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
    const isSmall = length < LEAST_ASKED_BYTES;
    this.leftAt = isSmall && (bytes[0] === ALERT || length === ENCRYPTED_ALERT_BYTES) ? now : null;
    if (length > MOST_SAID_BYTES && this.records !== '') this.#left = 0;
    // Up to TLS 1.2, certificates and keys of the client are as long as a request.
    if (!isSmall && bytes[0] !== HANDSHAKE) this.#askedAt = now;
  }

  /**
   * Returns since when the client has waited for what it asked for; infinite if it waits for nothing. Tickets come after
   * the handshake, and look like an answer; so `cameAt`, when the latest bytes came, counts if it got only the beginning of `others`.
   */
  since(cameAt: number, others: string): number {
    const isBeginning = this.#left > 0 && others.startsWith(this.records);
    return isBeginning && others !== this.records ? cameAt : this.#askedAt;
  }
}
