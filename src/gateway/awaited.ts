import { ALERT, recordFollower } from './opening.ts';

/** Fewest bytes at once with which a client asks for something; with less, it keeps or ends its connection. */
const LEAST_ASKED_BYTES = 128;
/** Size of a record of TLS 1.3 with nothing but an alert. */
const ENCRYPTED_ALERT_BYTES = 24;
/** Records of an answer by which it is compared with others. */
const MOST_RECORDS = 8;

/** What a client still waits for, as the records of TLS show it that pass in a tunnel. */
export class Awaited {
  /** Whether a record has begun and not ended. */
  isWithin = false;
  /** The lengths of the first records since the handshake, until the client asks again. */
  records = '';
  /** When the client has said that it sends no more; some then wait for the answer to that, for 30 s. */
  leftAt: number | null = null;
  #left = 0;
  /** When the client has asked for what nothing came after; infinite if something did. */
  #askedAt = Number.POSITIVE_INFINITY;
  readonly #follow = recordFollower((length) => {
    if (this.#left-- > 0) this.records += `${length} `;
  });

  /** Begins after the handshake. */
  begin(): void {
    this.#left = MOST_RECORDS;
  }

  asked(bytes: Uint8Array, now: number): void {
    if (bytes[0] === ALERT || bytes.length === ENCRYPTED_ALERT_BYTES) this.leftAt ??= now;
    if (bytes.length < LEAST_ASKED_BYTES) return;
    this.#askedAt = now;
    if (this.records !== '') this.#left = 0;
  }

  came(bytes: Uint8Array, isTls: boolean): void {
    this.#askedAt = Number.POSITIVE_INFINITY;
    if (isTls) this.isWithin = this.#follow(bytes);
  }

  /**
   * Returns since when the client has waited if it asked for something that did not come; infinite if it did not. Tickets come after
   * the handshake, and look like an answer; so `cameAt`, when the latest bytes came, counts if it got only the beginning of `others`.
   */
  since(cameAt: number, others: string): number {
    const isLess = this.#left > 0 && this.records !== '' && others.startsWith(this.records);
    return isLess && others !== this.records ? cameAt : this.#askedAt;
  }
}
