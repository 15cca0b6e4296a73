import type { Format } from '../format.ts';
import { bareAvif } from './avif.ts';
import { bareGif } from './gif.ts';
import { bareJpeg } from './jpeg.ts';
import { barePng } from './png.ts';
import type { Bare } from './shortened.ts';
import { bareWebp } from './webp.ts';

type Strip = (file: Buffer, keepsExif: boolean) => Bare | Buffer | null;

const STRIPS: Record<Format, Strip> = {
  jpeg: bareJpeg,
  png: barePng,
  gif: bareGif,
  webp: bareWebp,
  avif: bareAvif,
};

/**
 * Returns the parts of a file on the lists of its format, in their order and with nothing behind them. Returns `null` for a
 * file that is damaged or has parts that only a full decoder can judge. Pixels are not decoded. Time and memory grow with
 * the bytes of the file; of a PNG, with its pixels.
 */
export function bareFile(file: Buffer, format: Format, keepsExif: boolean): Bare | null {
  try {
    const bare = STRIPS[format](file, keepsExif);
    return Buffer.isBuffer(bare) ? { file: bare, shortened: () => [] } : bare;
  } catch (error) {
    // A length points outside the file.
    if (
      error instanceof RangeError ||
      (error as NodeJS.ErrnoException).code?.startsWith('ERR_') ||
      String(error).includes('zlib')
    )
      return null;
    throw error;
  }
}
