import { rgbaToThumbHash } from 'thumbhash';

/** What a picture looks like, in a few bytes. */
export interface Look {
  /** ThumbHash in Base64: a blurred preview with its colours and its shape, some 25 bytes. */
  thumbhash: string;
  /**
   * 64 bits in hexadecimal. Similar pictures have most of them in common. `null` if there is next to nothing to see.
   */
  phash: string | null;
}

/** Decoded pixels, 8 bits a channel, row by row: grey, grey and alpha, RGB or RGBA. */
export interface Pixels {
  data: Uint8Array;
  width: number;
  height: number;
  channels: 1 | 2 | 3 | 4;
}

/** Samples of each cell across and down, because not all pixels are needed to find their mean. */
const SAMPLES = 4;
/** ThumbHash keeps seven waves across, for which this many samples are plenty. */
const PREVIEW_SIDE = 48;
/** Cells of the perceptual hash's grid, across and down. */
const GRID = 64;
/** Number of waves in the perceptual hash, and the shortest of them, in half periods along a side. */
const BITS = 64;
const SHORTEST = 9;
/**
 * If most waves are weaker than this, in steps of brightness, noise would decide, and plain pictures would match each
 * other.
 */
const FAINTEST = 0.3;
/**
 * Minimum share of cells that must differ from the background by this many steps of brightness: a detail in one
 * corner of a plain background gives all waves the same signs, whatever it is.
 */
const PLAINEST = { share: 0.1, steps: 16 };
/** Drawings are symmetric and lack many waves. What encoders put in their place must not decide. */
const NOISE = 0.1;

/** Computes both hashes. Takes one or two milliseconds, whatever the size. */
export function lookOf(pixels: Pixels): Look {
  const { width, height } = pixels;
  const scale = Math.min(1, PREVIEW_SIDE / Math.max(width, height));
  const [w, h] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  return {
    thumbhash: Buffer.from(rgbaToThumbHash(w, h, gridOf(pixels, w, h))).toString('base64'),
    phash: perceptualHash(gridOf(pixels, GRID, GRID)),
  };
}

/** Returns the picture as a grid of RGBA cells, each the mean of some of its pixels. */
function gridOf(pixels: Pixels, across: number, down: number): Uint8Array {
  const grid = new Uint8Array(across * down * 4);
  const columns = placesOf(pixels.width, across);
  const rows = placesOf(pixels.height, down);
  for (let y = 0; y < down; y++) {
    for (let x = 0; x < across; x++) {
      meanOf(pixels, columns[x] ?? [], rows[y] ?? [], grid, (y * across + x) * 4);
    }
  }
  return grid;
}

/** Returns the sampled positions of each cell along a side, evenly spread. */
function placesOf(length: number, cells: number): number[][] {
  return Array.from({ length: cells }, (_, cell) => {
    const [from, to] = [(cell * length) / cells, ((cell + 1) * length) / cells];
    const count = Math.max(1, Math.min(SAMPLES, Math.floor(to - from)));
    return Array.from({ length: count }, (_, n) =>
      Math.min(length - 1, Math.floor(from + ((n + 0.5) * (to - from)) / count)),
    );
  });
}

/** Weighs colours by their opacity. */
function meanOf(
  { data, width, channels }: Pixels,
  columns: readonly number[],
  rows: readonly number[],
  grid: Uint8Array,
  at: number,
): void {
  const isGrey = channels < 3;
  const hasAlpha = channels === 2 || channels === 4;
  let [red, green, blue, opacity] = [0, 0, 0, 0];
  for (const row of rows) {
    for (const column of columns) {
      const from = (row * width + column) * channels;
      const alpha = hasAlpha ? (data[from + channels - 1] ?? 0) : 255;
      opacity += alpha;
      red += alpha * (data[from] ?? 0);
      green += alpha * (data[isGrey ? from : from + 1] ?? 0);
      blue += alpha * (data[isGrey ? from : from + 2] ?? 0);
    }
  }
  const count = rows.length * columns.length;
  grid[at] = opacity === 0 ? 0 : Math.round(red / opacity);
  grid[at + 1] = opacity === 0 ? 0 : Math.round(green / opacity);
  grid[at + 2] = opacity === 0 ? 0 : Math.round(blue / opacity);
  grid[at + 3] = Math.round(opacity / count);
}

/** The waves that count, across and down, longest first, without the mean. */
const WAVES: readonly (readonly [across: number, down: number])[] = Array.from(
  { length: (SHORTEST + 1) ** 2 },
  (_, place) => [place % (SHORTEST + 1), Math.floor(place / (SHORTEST + 1))] as const,
)
  .toSorted(([a, b], [c, d]) => a ** 2 + b ** 2 - (c ** 2 + d ** 2) || b - d)
  .slice(1, BITS + 1);

/** `COSINES[wave][place]` of the discrete cosine transform along a side of the grid. */
const COSINES = Array.from({ length: SHORTEST + 1 }, (_, wave) =>
  Float64Array.from({ length: GRID }, (_, place) => Math.cos((Math.PI / GRID) * wave * (place + 0.5))),
);

/**
 * Returns the signs of the longest waves of the brightness, which survive resizing, re-encoding and a slight crop.
 * After C. Zauner, Implementation and Benchmarking of Perceptual Image Hash Functions, 2010, but with the waves in a
 * quarter of a circle (bench/looks.ts). Transparent pictures are put on white. Returns `null` if there is next to
 * nothing to see.
 */
function perceptualHash(grid: Uint8Array): string | null {
  const brightness = Float64Array.from({ length: GRID * GRID }, (_, cell) => {
    const at = cell * 4;
    const alpha = grid[at + 3] ?? 0;
    const tone = 0.299 * (grid[at] ?? 0) + 0.587 * (grid[at + 1] ?? 0) + 0.114 * (grid[at + 2] ?? 0);
    return (tone * alpha) / 255 + 255 - alpha;
  });
  if (isPlain(brightness)) return null;
  const strengths = strengthsOf(brightness);
  const faint = strengths.filter((strength) => Math.abs(strength) < FAINTEST).length;
  if (faint > BITS / 2) return null;
  let bits = 0n;
  for (const strength of strengths) bits = (bits << 1n) | (strength > NOISE ? 1n : 0n);
  return bits.toString(16).padStart(BITS / 4, '0');
}

/** Reports whether nearly all cells have the median brightness. */
function isPlain(brightness: Float64Array): boolean {
  const ground = brightness.toSorted()[brightness.length >> 1] ?? 0;
  let others = 0;
  for (const tone of brightness) if (Math.abs(tone - ground) > PLAINEST.steps) others++;
  return others < brightness.length * PLAINEST.share;
}

/** Returns the strength of each wave, in steps of brightness. */
function strengthsOf(brightness: Float64Array): number[] {
  // By rows first, then by columns.
  const columns = COSINES.map((cosines) =>
    Float64Array.from({ length: GRID }, (_, y) => {
      let sum = 0;
      for (let x = 0; x < GRID; x++) sum += (brightness[y * GRID + x] ?? 0) * (cosines[x] ?? 0);
      return sum / GRID;
    }),
  );
  return WAVES.map(([across, down]) => {
    const [column, cosines] = [columns[across], COSINES[down]];
    let sum = 0;
    for (let y = 0; y < GRID; y++) sum += (column?.[y] ?? 0) * (cosines?.[y] ?? 0);
    return sum / GRID;
  });
}
