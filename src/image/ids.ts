/** `length` cryptographically random bytes. */
export type RandomBytes = (length: number) => Uint8Array;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Bytes from here on would make the first letters of the alphabet likelier than the last. */
const FAIR_BYTES = 256 - (256 % ALPHABET.length);

const ID_LENGTH = 12;
/** 190 bits. */
const TOKEN_LENGTH = 32;

/** A path segment that can be an image id. */
export const ID_PATTERN = /^[0-9A-Za-z]{12}$/;

/** What can be a delete token. */
export const TOKEN_PATTERN = /^[0-9A-Za-z]{32}$/;

/** An image id: 71 random bits in letters and digits. */
export function createId(random: RandomBytes): string {
  return randomText(random, ID_LENGTH);
}

/** A delete token: letters and digits that nobody can guess. */
export function createDeleteToken(random: RandomBytes): string {
  return randomText(random, TOKEN_LENGTH);
}

function randomText(random: RandomBytes, length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of random(length)) {
      if (byte < FAIR_BYTES && text.length < length) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}
