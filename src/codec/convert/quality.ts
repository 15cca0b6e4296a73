import type { Format } from '../format.ts';
import { differencesOf, type Rgb } from './likeness.ts';
import type { Pixels } from './look.ts';

/** The quality at which a sample is encoded. */
export const SAMPLE_QUALITY = { webp: 80, jpeg: 78, avif: 57 };
/** Formats whose encoder has a quality. */
export type Lossy = keyof typeof SAMPLE_QUALITY;

/** The median of what photos need, for pictures that are too small for a sample. */
const USUAL_QUALITY: Record<Lossy, number> = { webp: 82, jpeg: 74, avif: 57 };

/** Reports whether the encoder of a format has a quality. */
export function isLossy(format: Format): format is Lossy {
  return format in SAMPLE_QUALITY;
}

/** Side of a tile in pixels: the encoders' blocks at its edges must not count much. */
const TILE = 128;
/** Tiles begin where blocks of an earlier JPEG do: encoding in the same blocks loses less. */
const GRID = 16;
/** JPEG is the hardest to predict and takes the longest to encode, WebP the shortest. */
const TILES: Record<Lossy, readonly [least: number, most: number]> = {
  webp: [6, 8],
  jpeg: [8, 24],
  avif: [8, 12],
};
/** The share of the pixels in a sample, between these limits. */
const SHARE = 1 / 16;
/** Smaller pictures have no sample: it would cost nearly as much as the picture. */
const LEAST_PIXELS = 1e6;

/**
 * Coefficients of the factors that `factorsOf` returns, for SSIMULACRA2 of 74.7. Fitted by `bun bench/quality.ts tune` to some 60 photos of cameras.
 */
const MODELS: Record<Lossy, readonly number[]> = {
  webp: [177.7, 4.911, -1.21, 5.936, 0.473, 0.001882, 5.113, 0.44, -1.21, -2.38, 0.4236],
  jpeg: [123.9, 4.467, 0.04285, 5.112, 1.689, -2.068, -1.395, 4.582, -2.467, -9.098, -0.4613],
  avif: [161.6, 9.342, -0.7751, -1.702, 2.666, -2.901, 9.82, 1.063, -0.4816, -4.691, -0.04678],
};
/** Quality is chosen within these bounds, whatever the model says. */
export const BOUNDS: Record<Lossy, readonly [least: number, most: number]> = {
  webp: [60, 92],
  jpeg: [44, 86],
  avif: [35, 70],
};

/** Returns tiles from all over a picture as one picture, or `null` if it is too small for that. */
export function sampleOf({ data, width, height, channels }: Pixels, format: Lossy): Rgb | null {
  if (width * height < LEAST_PIXELS || Math.min(width, height) < TILE || channels < 3) return null;
  const [least, most] = TILES[format];
  const count = Math.min(most, Math.max(least, (width * height * SHARE) / TILE ** 2));
  const across = Math.max(
    1,
    Math.min(Math.floor(width / TILE), Math.round(Math.sqrt((count * width) / height))),
  );
  const down = Math.max(1, Math.min(Math.floor(height / TILE), Math.round(count / across)));
  const tiles = across * down;
  const sample = new Uint8Array(tiles * TILE * TILE * 3);
  let to = 0;
  for (let tile = 0; tile < tiles; tile++) {
    const left = onGrid(((width - TILE) * ((tile % across) + 0.5)) / across);
    const top = onGrid(((height - TILE) * (Math.floor(tile / across) + 0.5)) / down);
    for (let y = top; y < top + TILE; y++) {
      let from = (y * width + left) * channels;
      for (let x = 0; x < TILE; x++, from += channels) {
        sample[to++] = data[from] as number;
        sample[to++] = data[from + 1] as number;
        sample[to++] = data[from + 2] as number;
      }
    }
  }
  return { data: sample, width: TILE, height: tiles * TILE };
}

const onGrid = (place: number) => Math.floor(place / GRID) * GRID;

/** Returns the factors of the model: how a sample differs after encoding, what it shows, and the picture's pixels. */
export function factorsOf(sample: Rgb, made: Rgb, pixels: number): number[] {
  return [1, ...differencesOf(sample, made), ...textureOf(sample), Math.log(pixels / 1e6)];
}

/**
 * Returns the quality at which a picture looks as it should, after encoding a sample of it at `SAMPLE_QUALITY` and decoding that.
 * `encoded` does both.
 */
export async function qualityFor(
  picture: Pixels | null,
  format: Lossy,
  encoded: (sample: Rgb, quality: number) => Promise<Rgb>,
): Promise<number> {
  const sample = picture && sampleOf(picture, format);
  if (!sample) return USUAL_QUALITY[format];
  const made = await encoded(sample, SAMPLE_QUALITY[format]);
  return qualityFrom(factorsOf(sample, made, picture.width * picture.height), format);
}

/** Least quality with which a file is made as small as its source, unless that has the same format. */
const LEAST_QUALITY: Record<Lossy, number> = { webp: 30, jpeg: 35, avif: 28 };
/** By how much one step of quality changes the logarithm of the bytes, above a quality; in photos. */
const STEPS: Record<Lossy, readonly (readonly [above: number, change: number])[]> = {
  webp: [
    [82, 0.07],
    [75, 0.045],
    [0, 0.016],
  ],
  jpeg: [
    [75, 0.045],
    [64, 0.028],
    [0, 0.0144],
  ],
  avif: [[0, 0.045]],
};

const MOST_TRIES = 3;
/** Four AVIF files of 40 megapixels take 25 seconds, nearly the time limit. */
const MOST_PIXELS = 2e7;

/** Returns how many times a picture that became larger than its file may be encoded again. */
export function triesFor({ width, height }: { width: number; height: number }, animated: boolean): number {
  return animated || width * height > MOST_PIXELS ? 1 : MOST_TRIES;
}

/** Returns the quality at which about `share` of the bytes are left. */
export function lowered(quality: number, share: number, format: Lossy, isSame: boolean): number {
  const least = isSame ? 1 : LEAST_QUALITY[format];
  let [lower, excess] = [quality, -Math.log(share * 0.97)];
  for (; excess > 0 && lower > least; lower--)
    excess -= STEPS[format].find(([above]) => lower > above)?.[1] ?? 0;
  return lower;
}

function qualityFrom(factors: readonly number[], format: Lossy): number {
  const quality = MODELS[format].reduce(
    (sum, coefficient, index) => sum + coefficient * (factors[index] ?? 0),
    0,
  );
  const [least, most] = BOUNDS[format];
  return Math.round(Math.min(most, Math.max(least, quality)));
}

const BLOCK = 8;

/** Returns the logarithm of fine detail in green, the mean logarithm of the variance in blocks, and the share of flat blocks. */
function textureOf({ data, width, height }: Rgb): number[] {
  let [detail, rough, flat] = [0, 0, 0];
  const green = (x: number, y: number) => data[(y * width + x) * 3 + 1] as number;
  for (let top = 0; top < height; top += BLOCK) {
    for (let left = 0; left < width; left += BLOCK) {
      let [sum, squares] = [0, 0];
      for (let y = top; y < top + BLOCK; y++) {
        for (let x = left; x < left + BLOCK; x++) {
          const value = green(x, y);
          sum += value;
          squares += value * value;
          const isInside = x > left && y > top && x < left + BLOCK - 1 && y < top + BLOCK - 1;
          if (isInside)
            detail += Math.abs(
              4 * value - green(x - 1, y) - green(x + 1, y) - green(x, y - 1) - green(x, y + 1),
            );
        }
      }
      const variance = Math.max(0, squares / BLOCK ** 2 - (sum / BLOCK ** 2) ** 2);
      rough += Math.log(variance + 1);
      if (variance < 2) flat++;
    }
  }
  const blocks = (width * height) / BLOCK ** 2;
  return [Math.log(detail / blocks / (BLOCK - 2) ** 2 + 0.3), rough / blocks, flat / blocks];
}
