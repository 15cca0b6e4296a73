/** Interleaved RGB, 8 bits each. */
export interface Rgb {
  data: Uint8Array;
  width: number;
  height: number;
}

/** One value for each pixel. */
interface Plane {
  values: Float32Array;
  width: number;
  height: number;
}

/** Squares of pixels, by their sides, that are compared with SSIMULACRA2's terms for brightness (github.com/cloudinary/ssimulacra2). */
const SQUARES = [4, 8];
const STABLE = 0.0009;
/** Light to which the eyes' two kinds of cones for brightness react, in the mean. */
const [RED, GREEN, BLUE] = [0.265, 0.657, 0.078];
/** sRGB to linear light. */
const LINEAR = Float32Array.from({ length: 256 }, (_, value) =>
  value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
);
const BIAS = 0.0037930734;
/** Half of a Gaussian with a deviation of 1.5. */
const KERNEL = [0.2667, 0.2135, 0.1096, 0.0361, 0.0076] as const;

/**
 * Returns how a picture differs from its original, of the same size, as logarithms: for each size of squares mean and fourth norm of the
 * lost structure, and fourth norm of new edges. Pure.
 */
export function differencesOf(original: Rgb, made: Rgb): number[] {
  return SQUARES.flatMap((side) => {
    const [before, after] = [brightness(original, side), brightness(made, side)];
    return termsOf(before, after).map((term) => Math.log(term + 1e-5));
  });
}

/** Returns the brightness of squares with that side. */
function brightness({ data, width, height }: Rgb, side: number): Plane {
  const [columns, rows] = [Math.floor(width / side), Math.floor(height / side)];
  const values = new Float32Array(columns * rows);
  const light = (at: number) => LINEAR[data[at] as number] as number;
  for (let row = 0; row < rows * side; row++) {
    const to = Math.floor(row / side) * columns;
    let from = row * width * 3;
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let x = 0; x < side; x++, from += 3)
        sum += RED * light(from) + GREEN * light(from + 1) + BLUE * light(from + 2);
      values[to + column] = (values[to + column] as number) + sum / side ** 2;
    }
  }
  return {
    values: values.map((value) => Math.cbrt(value + BIAS) - Math.cbrt(BIAS)),
    width: columns,
    height: rows,
  };
}

function termsOf(before: Plane, after: Plane): number[] {
  const [a, b] = [before.values, after.values];
  const mean = (value: (at: number) => number) => blurred({ ...before, values: a.map((_, at) => value(at)) });
  const first = (at: number) => a[at] as number;
  const second = (at: number) => b[at] as number;
  const [meanA, meanB] = [mean(first), mean(second)];
  const [squaresA, squaresB] = [mean((at) => first(at) ** 2), mean((at) => second(at) ** 2)];
  const products = mean((at) => first(at) * second(at));
  let [loss, fourths, edges] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    const [p, q] = [meanA[at] as number, meanB[at] as number];
    const spread = (squaresA[at] as number) - p * p + (squaresB[at] as number) - q * q + STABLE;
    const shared = 2 * ((products[at] as number) - p * q) + STABLE;
    const lost = Math.max(0, 1 - ((1 - (p - q) ** 2) * shared) / spread);
    loss += lost;
    fourths += lost ** 4;
    const edge = (1 + Math.abs(second(at) - q)) / (1 + Math.abs(first(at) - p)) - 1;
    edges += Math.max(0, edge) ** 4;
  }
  return [loss / a.length, (fourths / a.length) ** 0.25, (edges / a.length) ** 0.25];
}

function blurred({ values, width, height }: Plane): Float32Array {
  return blurredAlong(blurredAlong(values, width, height, 1, width), height, width, width, 1);
}

/** Blurs `lines` lines of `length` values, which lie `step` apart; lines begin `next` apart. The ends are repeated. */
function blurredAlong(
  values: Float32Array,
  length: number,
  lines: number,
  step: number,
  next: number,
): Float32Array {
  const result = new Float32Array(values.length);
  const [k0, k1, k2, k3, k4] = KERNEL;
  const last = (length - 1) * step;
  for (let line = 0; line < lines; line++) {
    const start = line * next;
    const value = (away: number) => values[start + Math.min(last, Math.max(0, away))] as number;
    for (let at = 0; at <= last; at += step) {
      result[start + at] =
        k0 * value(at) +
        k1 * (value(at - step) + value(at + step)) +
        k2 * (value(at - 2 * step) + value(at + 2 * step)) +
        k3 * (value(at - 3 * step) + value(at + 3 * step)) +
        k4 * (value(at - 4 * step) + value(at + 4 * step));
    }
  }
  return result;
}
