import type { Format } from '../format.ts';
import { bareAvif } from './avif.ts';
import { bareGif } from './gif.ts';
import { bareJpeg } from './jpeg.ts';
import { barePng } from './png.ts';
import type { Bare } from './trials.ts';
import { bareWebp } from './webp.ts';

const STRIPS: Record<Format, (file: Buffer, keepsExif: boolean) => Bare | Buffer | null> = {
  png: barePng,
  gif: bareGif,
  jpeg: bareJpeg,
  webp: bareWebp,
  avif: bareAvif,
};

/**
 * Returns the parts of a file on the list of its format, in their order and with nothing behind them. Returns `null` for a file
 * that is damaged, or whose structure is not simple. Time and memory grow with the bytes of the file; of a PNG, with its pixels.
 */
export function bareFile(file: Buffer, format: Format, keepsExif: boolean): Bare | null {
  try {
    const bare = STRIPS[format](file, keepsExif);
    return Buffer.isBuffer(bare) ? { file: bare } : bare;
  } catch {
    // A length points outside the file, or a stream is damaged.
    return null;
  }
}
