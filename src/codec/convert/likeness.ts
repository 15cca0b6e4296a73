/** Interleaved RGB, 8 bits each. */
export interface Rgb {
  data: Uint8Array;
  width: number;
  height: number;
}

/** Three planes of the same size. */
interface Planes {
  planes: Float32Array[];
  width: number;
  height: number;
}

/**
 * Scales of SSIMULACRA2 (github.com/cloudinary/ssimulacra2) that are compared: pixels are halved this many times. The first two cost most and
 * count least.
 */
const SCALES = [2, 3, 4];
/** Its weights in the order of `Terms`, by channel and scale: mean and fourth norm of the loss of structure, fourth norm of new edges. */
const WEIGHTS = [
  [
    [0, 1.84, 11.44],
    [0, 1.88, 10.95],
    [0, 0, 1],
  ],
  [
    [225.2, 19.21, 0],
    [176.4, 24.43, 0.29],
    [0, 34.78, 44.84],
  ],
  [
    [0, 0, 0],
    [0, 8.83, 23.19],
    [95.1, 0, 171.3],
  ],
] as const;
const STABLE = 0.0009;
/** sRGB to linear light. */
const LINEAR = Float32Array.from({ length: 256 }, (_, value) =>
  value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
);
/** Cube roots of linear light, which XYB adds a bias to. */
const BIAS = 0.0037930734;
const STEPS = 4096;
const ROOTS = Float32Array.from(
  { length: STEPS + 64 },
  (_, step) => Math.cbrt(step / STEPS + BIAS) - Math.cbrt(BIAS),
);
/** Half of a Gaussian with a deviation of 1.5. */
const KERNEL = [0.2667, 0.2135, 0.1096, 0.0361, 0.0076];

/** How a picture differs from its original. */
export interface Likeness {
  /** About SSIMULACRA2: 100 for no difference. */
  score: number;
  /** The parts that a model weighs once more, as logarithms: loss of structure in luma, and new edges. */
  parts: number[];
}

/** Compares two pictures of the same size. Takes some 30 ms per megapixel. Pure. */
export function likenessOf(original: Rgb, made: Rgb): Likeness {
  let [a, b] = [reduced(original, 2 ** (SCALES[0] ?? 0)), reduced(made, 2 ** (SCALES[0] ?? 0))];
  let sum = 0;
  const parts: number[] = [];
  for (const index of SCALES.keys()) {
    if (index > 0) [a, b] = [halved(a), halved(b)];
    const [from, to] = [xybOf(a), xybOf(b)];
    for (const [channel, weights] of WEIGHTS.entries()) {
      const terms = termsOf(from[channel] as Float32Array, to[channel] as Float32Array, a);
      for (const [term, weight] of (weights[index] ?? []).entries()) sum += weight * (terms[term] ?? 0);
      if (channel === 1) parts.push(...terms.map((term) => Math.log(term + 1e-5)));
    }
  }
  const loss = sum * 0.95624;
  const distance = 6.2485e-5 * loss ** 3 - 0.0208845 * loss ** 2 + 2.32677 * loss;
  return { score: 100 - 10 * Math.max(0, distance) ** 0.62763, parts };
}

/** Returns linear light, each value the mean of a square of that side. */
function reduced({ data, width, height }: Rgb, side: number): Planes {
  const [columns, rows] = [Math.floor(width / side), Math.floor(height / side)];
  const planes = [0, 1, 2].map(() => new Float32Array(columns * rows));
  for (const [channel, plane] of planes.entries()) {
    for (let row = 0; row < rows * side; row++) {
      const to = Math.floor(row / side) * columns;
      let from = row * width * 3 + channel;
      for (let column = 0; column < columns; column++) {
        let light = 0;
        for (let x = 0; x < side; x++, from += 3) light += LINEAR[data[from] as number] as number;
        plane[to + column] = (plane[to + column] as number) + light / side ** 2;
      }
    }
  }
  return { planes, width: columns, height: rows };
}

function halved({ planes, width, height }: Planes): Planes {
  const [columns, rows] = [width >> 1, height >> 1];
  const half = (plane: Float32Array) => {
    const result = new Float32Array(columns * rows);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const at = 2 * (row * width + column);
        const sum = (plane[at] as number) + (plane[at + 1] as number) + (plane[at + width] as number);
        result[row * columns + column] = (sum + (plane[at + width + 1] as number)) / 4;
      }
    }
    return result;
  };
  return { planes: planes.map(half), width: columns, height: rows };
}

/** Returns the colours as XYB, scaled so that SSIMULACRA2's constants hold. */
function xybOf({ planes: [reds, greens, blues] }: Planes): Float32Array[] {
  const root = (light: number) => ROOTS[Math.round(light * STEPS)] as number;
  const [x, y, b] = [0, 1, 2].map(() => new Float32Array(reds?.length ?? 0)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  for (let at = 0; at < x.length; at++) {
    const [red, green, blue] = [reds?.[at] as number, greens?.[at] as number, blues?.[at] as number];
    const long = root(0.3 * red + 0.622 * green + 0.078 * blue);
    const middle = root(0.23 * red + 0.692 * green + 0.078 * blue);
    x[at] = (long - middle) * 7;
    y[at] = (long + middle) / 2;
    b[at] = root(0.2434 * red + 0.2048 * green + 0.5518 * blue) - (long + middle) / 2;
  }
  return [x, y, b];
}

/** Mean and fourth norm of the loss of structure, and fourth norm of new edges. */
type Terms = [number, number, number];

function termsOf(a: Float32Array, b: Float32Array, size: Planes): Terms {
  const [meanA, meanB] = [blurred(a, size), blurred(b, size)];
  const [squaresA, squaresB, products] = [
    blurred(times(a, a), size),
    blurred(times(b, b), size),
    blurred(times(a, b), size),
  ];
  let [loss, fourths, edges] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    const [p, q] = [meanA[at] as number, meanB[at] as number];
    const spread = (squaresA[at] as number) - p * p + (squaresB[at] as number) - q * q + STABLE;
    const lost = Math.max(
      0,
      1 - ((1 - (p - q) ** 2) * (2 * ((products[at] as number) - p * q) + STABLE)) / spread,
    );
    loss += lost;
    fourths += lost ** 4;
    const edge = (1 + Math.abs((b[at] as number) - q)) / (1 + Math.abs((a[at] as number) - p)) - 1;
    edges += Math.max(0, edge) ** 4;
  }
  return [loss / a.length, (fourths / a.length) ** 0.25, (edges / a.length) ** 0.25];
}

function times(a: Float32Array, b: Float32Array): Float32Array {
  const result = new Float32Array(a.length);
  for (let at = 0; at < a.length; at++) result[at] = (a[at] as number) * (b[at] as number);
  return result;
}

function blurred(plane: Float32Array, { width, height }: Planes): Float32Array {
  return blurredAlong(blurredAlong(plane, width, height, 1, width), height, width, width, 1);
}

/** Blurs `lines` lines of `length` values, which lie `step` apart; lines begin `next` apart. The ends are repeated. */
function blurredAlong(
  plane: Float32Array,
  length: number,
  lines: number,
  step: number,
  next: number,
): Float32Array {
  const result = new Float32Array(plane.length);
  const [k0, k1, k2, k3, k4] = KERNEL as [number, number, number, number, number];
  const last = (length - 1) * step;
  for (let line = 0; line < lines; line++) {
    const start = line * next;
    const value = (away: number) => plane[start + Math.min(last, Math.max(0, away))] as number;
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
