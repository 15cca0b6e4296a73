/**
 * Pictures whose hashes differ in at most this many of 64 bits count as the same: resized, encoded again or slightly
 * cropped. bench/looks.ts measures what it finds and misses.
 */
export const ALIKE_BITS = 12;

/** Returns how many bits of a 32-bit integer are set. */
export function countBits(number: number): number {
  let bits = number - ((number >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Returns the halves of 64 bits in hexadecimal. */
export function halvesOf(hex: string): [high: number, low: number] {
  return [Number.parseInt(hex.slice(0, 8), 16), Number.parseInt(hex.slice(8, 16), 16)];
}

/** Returns the number of bits in which two 64-bit numbers in hexadecimal differ. */
export function distanceBetween(one: string, other: string): number {
  const [[a, b], [c, d]] = [halvesOf(one), halvesOf(other)];
  return countBits(a ^ c) + countBits(b ^ d);
}
