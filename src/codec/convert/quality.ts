import type { Format } from '../format.ts';
import { differenceOf } from './likeness.ts';
import type { Pixels } from './look.ts';

/** Formats whose encoder has a quality. */
export type Lossy = 'webp' | 'jpeg' | 'avif';

/** What is known of such an encoder. */
interface Encoder {
  /** For drawings, screenshots and animations. */
  drawing: number;
  /** The median of what photos need, for pictures that are too small for a sample. */
  usual: number;
  /** At which a sample is encoded first, and how many tiles that has. */
  sample: number;
  tiles: readonly [least: number, most: number];
  /** How much a sample differs if its picture has a SSIMULACRA2 of 74.5, the median of photos of cameras. `bun bench/quality.ts tune` prints it. */
  wanted: number;
  /** Encodings of the sample at most, each at the quality that the last one led to. */
  steps: number;
  /** Quality is chosen within these bounds, whatever the model says. */
  bounds: readonly [least: number, most: number];
  /** With which a file is at least made as small as its source, unless that has the same format. */
  least: number;
  /** What is left of 100 above the quality, to the power of this, follows the bytes. */
  power: number;
}

/** WebP is the easiest to predict, JPEG the hardest. */
export const ENCODERS: Record<Lossy, Encoder> = {
  webp: {
    drawing: 80,
    usual: 83,
    sample: 80,
    tiles: [24, 40],
    wanted: 2.02,
    steps: 1,
    bounds: [60, 92],
    least: 30,
    power: 0.8,
  },
  jpeg: {
    drawing: 82,
    usual: 74,
    sample: 72,
    tiles: [48, 144],
    wanted: 1.97,
    steps: 2,
    bounds: [44, 86],
    least: 35,
    power: 0.85,
  },
  avif: {
    drawing: 57,
    usual: 59,
    sample: 57,
    tiles: [24, 36],
    wanted: 2.14,
    steps: 2,
    bounds: [35, 70],
    least: 28,
    power: 2.2,
  },
};

/** Reports whether the encoder of a format has a quality. */
export function isLossy(format: Format): format is Lossy {
  return format in ENCODERS;
}

/** Side of a tile in pixels. Many small ones see more of a picture than few large ones. */
const TILE = 64;
/** By how much more quality a difference needs that is e times as large: the median of photos or less, so that a second look does not overshoot. */
const RISE = 18;
/** So near to where the sample was encoded, a second look would change nothing that is seen. */
const NEAR = 2;
/** Tiles begin where blocks of an earlier JPEG do: encoding in the same blocks loses less. */
const GRID = 16;
/** The share of the pixels in a sample, within the number of tiles. */
const SHARE = 1 / 16;
/** Smaller pictures have no sample: it would cost nearly as much as the picture. */
const LEAST_PIXELS = 1e6;

/** Returns tiles from all over a picture side by side, or `null` if it is too small for that. */
export function sampleOf({ data, width, height, channels }: Pixels, format: Lossy): Pixels | null {
  if (width * height < LEAST_PIXELS || Math.min(width, height) < TILE || channels < 3) return null;
  const [least, most] = ENCODERS[format].tiles;
  const count = Math.min(most, Math.max(least, (width * height * SHARE) / TILE ** 2));
  const across = Math.max(1, Math.min(Math.floor(count), Math.round(Math.sqrt((count * width) / height))));
  const down = Math.max(1, Math.round(count / across));
  const tiles = across * down;
  const sample = new Uint8Array(tiles * TILE * TILE * 3);
  for (let tile = 0; tile < tiles; tile++) {
    const left = onGrid(((width - TILE) * ((tile % across) + 0.5)) / across);
    const top = onGrid(((height - TILE) * (Math.floor(tile / across) + 0.5)) / down);
    for (let y = 0; y < TILE; y++) {
      let from = ((top + y) * width + left) * channels;
      let to = (y * tiles + tile) * TILE * 3;
      for (let x = 0; x < TILE; x++, from += channels, to += 3) {
        sample[to] = data[from] as number;
        sample[to + 1] = data[from + 1] as number;
        sample[to + 2] = data[from + 2] as number;
      }
    }
  }
  return { data: sample, width: tiles * TILE, height: TILE, channels: 3 };
}

const onGrid = (place: number) => Math.floor(place / GRID) * GRID;

/**
 * Returns the quality at which a picture looks as it should, from how a sample of it differs after encoding. `encoded` encodes a sample and
 * decodes that.
 */
export async function qualityFor(
  picture: Pixels | null,
  format: Lossy,
  encoded: (sample: Pixels, quality: number) => Promise<Uint8Array>,
): Promise<number> {
  const { usual, sample: first, wanted, steps, bounds } = ENCODERS[format];
  const sample = picture && sampleOf(picture, format);
  if (!sample) return usual;
  let [quality, tried] = [first, Number.NEGATIVE_INFINITY];
  for (let step = 0; step < steps && Math.abs(quality - tried) > NEAR; step++) {
    tried = quality;
    const difference = differenceOf(sample, await encoded(sample, quality + stepsMore(picture, format)));
    const asked = quality + RISE * Math.log(difference / wanted);
    quality = Math.round(Math.min(bounds[1], Math.max(bounds[0], asked)));
  }
  return quality;
}

/** Returns how much more quality a sample gets than its picture: small AVIF are encoded with more effort, and look that much better. */
export function stepsMore({ width, height }: { width: number; height: number }, format: Lossy): number {
  return format === 'avif' && width * height <= 4e6 ? 1 : 0;
}

const MOST_TRIES = 3;
/** Four AVIF files of 40 megapixels take 25 seconds, nearly the time limit. */
const MOST_PIXELS = 2e7;

/** Returns how many times a picture that became larger than its file may be encoded again. */
export function triesFor({ width, height }: { width: number; height: number }, animated: boolean): number {
  return animated || width * height > MOST_PIXELS ? 1 : MOST_TRIES;
}

/**
 * Returns the quality at which about `share` of the bytes are left; half at least, because far from where it was measured that is too
 * low, and a picture of 12 megapixels ended as blocks of one colour.
 */
export function lowered(quality: number, share: number, format: Lossy, isSame: boolean): number {
  const { least, power } = ENCODERS[format];
  const wanted = Math.floor(100 - (100 - quality) / (share * 0.97) ** (1 / power));
  return Math.min(quality, Math.max(isSame ? 1 : least, wanted, Math.floor(quality / 2)));
}
