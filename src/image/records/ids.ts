/** Returns `length` cryptographically random bytes. */
export type RandomBytes = (length: number) => Uint8Array;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Larger bytes are skipped, because they would favour the first letters of the alphabet. */
const FAIR_BYTES = 256 - (256 % ALPHABET.length);

const ID_LENGTH = 12;
/** 190 bits. */
const TOKEN_LENGTH = 32;

/** Matches a path segment that can be an image ID. */
export const ID_PATTERN = /^[0-9A-Za-z]{12}$/;

/** Matches a possible delete token. */
export const TOKEN_PATTERN = /^[0-9A-Za-z]{32}$/;

/** Returns a new image ID: 71 random bits in letters and digits. */
export function createId(random: RandomBytes): string {
  return randomText(random, ID_LENGTH);
}

/** Returns a new delete token: letters and digits that nobody can guess. */
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
