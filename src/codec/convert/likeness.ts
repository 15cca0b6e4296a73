import type { Pixels } from './look.ts';

/** Brightness, and blue against it. */
const [LIGHT, BLUE] = [0, 1];
/**
 * The largest weights of SSIMULACRA2 (github.com/cloudinary/ssimulacra2), by the side of squares of pixels: lost structure in the mean and in
 * the fourth norm, new edges, lost edges.
 */
const WEIGHTS = [
  { plane: LIGHT, side: 1, weights: [0, 7.47, 0, 17.4] },
  { plane: LIGHT, side: 4, weights: [225, 19.2, 0, 0] },
  { plane: LIGHT, side: 8, weights: [176, 24.4, 0, 0] },
  { plane: BLUE, side: 8, weights: [0, 8.8, 23.2, 0] },
  { plane: BLUE, side: 16, weights: [95.1, 0, 171, 0] },
];
const STABLE = 0.0009;
/** Squares in a block, across and down, in which structure is compared: about as many as under SSIMULACRA2's Gaussian. */
const BLOCK = 4;
const BIAS = 0.0037930734;
/** How strongly the eyes' cones react to sRGB. */
const REACTION = Float32Array.from({ length: 256 }, (_, value) => {
  const light = value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  return Math.cbrt(light + BIAS) - Math.cbrt(BIAS);
});

/** Returns how much a picture in RGB differs from its original, whose sides are multiples of 64. Pure. */
export function differenceOf({ data, width }: Pixels, made: Uint8Array): number {
  const [before, after] = [planesOf(data), planesOf(made)];
  return WEIGHTS.reduce((sum, { plane, side, weights }) => {
    const [a, b] = [before, after].map((planes) => shrunk(planes[plane] as Float32Array, width, side));
    const terms = termsOf(a as Float32Array, b as Float32Array, width / side);
    return terms.reduce((all, term, index) => all + term * (weights[index] ?? 0), sum);
  }, 0);
}

/** Returns a value for each pixel. */
function planesOf(data: Uint8Array): [light: Float32Array, blue: Float32Array] {
  const [light, blue] = [new Float32Array(data.length / 3), new Float32Array(data.length / 3)];
  for (let at = 0, from = 0; at < light.length; at++, from += 3) {
    const r = REACTION[data[from] as number] as number;
    const g = REACTION[data[from + 1] as number] as number;
    const b = REACTION[data[from + 2] as number] as number;
    light[at] = 0.265 * r + 0.657 * g + 0.078 * b;
    blue[at] = 0.474 * b - 0.022 * r - 0.452 * g;
  }
  return [light, blue];
}

/** Returns the means of squares with that side. */
function shrunk(plane: Float32Array, width: number, side: number): Float32Array {
  if (side === 1) return plane;
  const values = new Float32Array(plane.length / (side * side));
  const across = width / side;
  for (let y = 0, from = 0; from < plane.length; y++) {
    const row = Math.floor(y / side) * across;
    for (let to = row; to < row + across; to++) {
      let sum = 0;
      for (const end = from + side; from < end; from++) sum += plane[from] as number;
      values[to] = (values[to] as number) + sum / (side * side);
    }
  }
  return values;
}

/**
 * Compares two planes of that width block by block. Returns what `WEIGHTS` weigh. Most of a sample's time after its encoding is spent here;
 * with destructuring in the inner loops it would be half as much again.
 */
function termsOf(a: Float32Array, b: Float32Array, width: number): number[] {
  const count = BLOCK * BLOCK;
  let [loss, losses, added, removed] = [0, 0, 0, 0];
  const fourth = (value: number) => value * value * value * value;
  const skip = width - BLOCK;
  for (let top = 0; top < a.length; top += width * BLOCK) {
    for (let start = top; start < top + width; start += BLOCK) {
      let [sumA, sumB, squares, products] = [0, 0, 0, 0];
      for (let y = 0, at = start; y < BLOCK; y++, at += skip) {
        for (let x = 0; x < BLOCK; x++, at++) {
          const p = a[at] as number;
          const q = b[at] as number;
          sumA += p;
          sumB += q;
          squares += p * p + q * q;
          products += p * q;
        }
      }
      const [meanA, meanB] = [sumA / count, sumB / count];
      const spread = squares / count - meanA * meanA - meanB * meanB + STABLE;
      const shared = 2 * (products / count - meanA * meanB) + STABLE;
      const lost = Math.max(0, 1 - ((1 - (meanA - meanB) ** 2) * shared) / spread);
      loss += lost;
      losses += fourth(lost);
      for (let y = 0, at = start; y < BLOCK; y++, at += skip) {
        for (let x = 0; x < BLOCK; x++, at++) {
          const p = Math.abs((a[at] as number) - meanA);
          const q = Math.abs((b[at] as number) - meanB);
          const edge = (q - p) / (1 + p);
          if (edge > 0) added += fourth(edge);
          else removed += fourth(edge);
        }
      }
    }
  }
  const blocks = a.length / count;
  return [loss / blocks, (losses / blocks) ** 0.25, (added / a.length) ** 0.25, (removed / a.length) ** 0.25];
}
