/** How numbers represent colours, in the codes of ITU-T H.273. */
export interface Cicp {
  primaries: number;
  transfer: number;
  /** In place of `transfer`: light is the number to this power. */
  gamma?: number;
}

type Vector = readonly [number, number, number];
type Matrix = readonly [Vector, Vector, Vector];

/** Red, green and blue as x and y, for white D65 (H.273, table 2). */
const SRGB_PRIMARIES = [0.64, 0.33, 0.3, 0.6, 0.15, 0.06] as const;
const PRIMARIES = new Map<number, readonly [number, number, number, number, number, number]>([
  [1, SRGB_PRIMARIES],
  [5, [0.64, 0.33, 0.29, 0.6, 0.15, 0.06]],
  [6, [0.63, 0.34, 0.31, 0.595, 0.155, 0.07]],
  [7, [0.63, 0.34, 0.31, 0.595, 0.155, 0.07]],
  [9, [0.708, 0.292, 0.17, 0.797, 0.131, 0.046]],
  [12, [0.68, 0.32, 0.265, 0.69, 0.15, 0.06]],
  [22, [0.63, 0.34, 0.295, 0.605, 0.155, 0.077]],
]);
const SRGB = 1;
const D65: Vector = [0.3127 / 0.329, 1, (1 - 0.3127 - 0.329) / 0.329];

const [GAMMA_22, GAMMA_28, LINEAR, PQ, HLG] = [4, 5, 8, 16, 18];

/** White of SDR, and the maximum brightness that HDR is graded for, in candela per square metre (ITU-R BT.2408). */
const WHITE = 203;
const BRIGHTEST = 1000;

/** Steps of the table that encodes sRGB. */
const STEPS = 8192;

/** Reports whether such numbers are sRGB, or are shown as sRGB everywhere. */
export function isPlain({ primaries, transfer, gamma }: Cicp): boolean {
  const usual = gamma === undefined && ![GAMMA_22, GAMMA_28, LINEAR, PQ, HLG].includes(transfer);
  return usual && (primaries === SRGB || !PRIMARIES.has(primaries));
}

/**
 * Converts RGBA of 8 or 16 bits to sRGB of 8 bits, in the same memory. Colours outside sRGB become the nearest in each channel. HDR is
 * compressed by an extended Reinhard curve over the brightest channel, which preserves hues.
 */
export function toSrgb(
  pixels: Uint8Array<ArrayBuffer> | Uint8ClampedArray<ArrayBuffer> | Uint16Array<ArrayBuffer>,
  { primaries, transfer, gamma }: Cicp,
): Uint8ClampedArray<ArrayBuffer> {
  const isDeep = pixels instanceof Uint16Array;
  const curve = gamma ? (value: number) => value ** gamma : (CURVES.get(transfer) ?? srgbLight);
  const most = isDeep ? 65_535 : 255;
  // Linear, with white at 1; for HLG, of the scene.
  const light = Float32Array.from({ length: most + 1 }, (_, number) => curve(number / most));
  const [red, green, blue] = multiply(invert(matrixOf(SRGB)), matrixOf(primaries));
  const encoded = encodeTable();
  const made = new Uint8ClampedArray(pixels.buffer, pixels.byteOffset, pixels.length);
  const isBright = transfer === PQ || transfer === HLG;
  // If channels do not depend on each other, a tenth of the time is enough.
  const alone = primaries === SRGB && !isBright && Uint8Array.from(light, (one) => encoded[step(one)] ?? 0);
  const peak = BRIGHTEST / WHITE;
  for (let at = 0; at < pixels.length; at += 4) {
    const alpha = pixels[at + 3] ?? 0;
    if (alone) for (let to = at; to < at + 3; to++) made[to] = alone[pixels[to] ?? 0] ?? 0;
    else {
      let r = light[pixels[at] ?? 0] ?? 0;
      let g = light[pixels[at + 1] ?? 0] ?? 0;
      let b = light[pixels[at + 2] ?? 0] ?? 0;
      if (isBright) {
        const shown = transfer === HLG ? displayOf(0.2627 * r + 0.678 * g + 0.0593 * b) : 1;
        const brightest = shown * Math.max(r, g, b);
        const scale = (shown * (1 + brightest / (peak * peak))) / (1 + brightest);
        [r, g, b] = [r * scale, g * scale, b * scale];
      }
      made[at] = encoded[step(red[0] * r + red[1] * g + red[2] * b)] ?? 0;
      made[at + 1] = encoded[step(green[0] * r + green[1] * g + green[2] * b)] ?? 0;
      made[at + 2] = encoded[step(blue[0] * r + blue[1] * g + blue[2] * b)] ?? 0;
    }
    made[at + 3] = isDeep ? alpha / 257 : alpha;
  }
  return made;
}

function step(light: number): number {
  // The table is indexed by the square root, which gives finer steps in dark colours.
  return light <= 0 ? 0 : light >= 1 ? STEPS : Math.round(Math.sqrt(light) * STEPS);
}

function encodeTable(): Uint8ClampedArray {
  return Uint8ClampedArray.from({ length: STEPS + 1 }, (_, index) => {
    const light = (index / STEPS) ** 2;
    return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
  });
}

const srgbLight = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

const CURVES = new Map<number, (value: number) => number>([
  [GAMMA_22, (value) => value ** 2.2],
  [GAMMA_28, (value) => value ** 2.8],
  [LINEAR, (value) => value],
  [PQ, pqLight],
  [HLG, hlgLight],
]);

/** ITU-R BT.2100, table 4. */
function pqLight(value: number): number {
  const [m1, m2] = [2610 / 16_384, (2523 / 4096) * 128];
  const [c1, c2, c3] = [3424 / 4096, (2413 / 4096) * 32, (2392 / 4096) * 32];
  const root = value ** (1 / m2);
  return (10_000 / WHITE) * (Math.max(root - c1, 0) / (c2 - c3 * root)) ** (1 / m1);
}

/** ITU-R BT.2100, table 5: scene light, at most 1. */
function hlgLight(value: number): number {
  const [a, b, c] = [0.17883277, 0.28466892, 0.55991073];
  return value <= 0.5 ? value ** 2 / 3 : (Math.exp((value - c) / a) + b) / 12;
}

/** Returns the factor from scene light to a screen of 1,000 cd/m², whose gamma is 1.2. */
function displayOf(luminance: number): number {
  return (BRIGHTEST / WHITE) * luminance ** 0.2;
}

/** From RGB to XYZ. */
function matrixOf(code: number): Matrix {
  const [xr, yr, xg, yg, xb, yb] = PRIMARIES.get(code) ?? SRGB_PRIMARIES;
  const columns: Matrix = [
    [xr / yr, xg / yg, xb / yb],
    [1, 1, 1],
    [(1 - xr - yr) / yr, (1 - xg - yg) / yg, (1 - xb - yb) / yb],
  ];
  const inverse = invert(columns);
  const weights = inverse.map((row) => row[0] * D65[0] + row[1] * D65[1] + row[2] * D65[2]);
  const [r = 0, g = 0, b = 0] = weights;
  const weigh = ([x, y, z]: Vector): Vector => [x * r, y * g, z * b];
  return [weigh(columns[0]), weigh(columns[1]), weigh(columns[2])];
}

function multiply(left: Matrix, right: Matrix): Matrix {
  const row = ([x, y, z]: Vector): Vector => [
    x * right[0][0] + y * right[1][0] + z * right[2][0],
    x * right[0][1] + y * right[1][1] + z * right[2][1],
    x * right[0][2] + y * right[1][2] + z * right[2][2],
  ];
  return [row(left[0]), row(left[1]), row(left[2])];
}

function invert([[a, b, c], [d, e, f], [g, h, i]]: Matrix): Matrix {
  const determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  const by = (value: number) => value / determinant;
  return [
    [by(e * i - f * h), by(c * h - b * i), by(b * f - c * e)],
    [by(f * g - d * i), by(a * i - c * g), by(c * d - a * f)],
    [by(d * h - e * g), by(b * g - a * h), by(a * e - b * d)],
  ];
}
