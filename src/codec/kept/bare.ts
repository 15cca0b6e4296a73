import type { Format } from '../format.ts';
import { bareGif } from './gif.ts';
import { barePng } from './png.ts';

/** In the other formats, only a decoder of our own could tell where the pixels end, and that every viewer draws the same. */
const STRIPS: Partial<Record<Format, (file: Buffer, keepsExif: boolean) => Buffer | null>> = {
  png: barePng,
  gif: bareGif,
};

/** Reports whether files of a format can be kept, because it has a list. */
export function hasList(format: Format): boolean {
  return format in STRIPS;
}

/**
 * Returns the parts of a file on the list of its format, in their order and with nothing behind them. Returns `null` for a file
 * that is damaged, or of a format without a list. Time and memory grow with the bytes of the file; of a PNG, with its pixels.
 */
export function bareFile(file: Buffer, format: Format, keepsExif: boolean): Buffer | null {
  try {
    return STRIPS[format]?.(file, keepsExif) ?? null;
  } catch {
    // A length points outside the file, or a stream is damaged.
    return null;
  }
}
