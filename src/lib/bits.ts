/**
 * Pictures whose looks differ in at most so many of 64 bits are taken for the same one: resized, encoded again or slightly
 * cropped. What it finds and misses is measured in bench/looks.ts.
 */
export const ALIKE_BITS = 12;

/** How many bits of a whole number of 32 bits are set. */
export function countBits(number: number): number {
  let bits = number - ((number >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The halves of 64 bits in hexadecimal. */
export function halvesOf(hex: string): [high: number, low: number] {
  return [Number.parseInt(hex.slice(0, 8), 16), Number.parseInt(hex.slice(8, 16), 16)];
}

/** In how many places two numbers of 64 bits in hexadecimal differ. */
export function distanceBetween(one: string, other: string): number {
  const [[a, b], [c, d]] = [halvesOf(one), halvesOf(other)];
  return countBits(a ^ c) + countBits(b ^ d);
}
