import type { Format } from '../format.ts';
import { bareAvif } from './avif.ts';
import { bareGif } from './gif.ts';
import { bareJpeg } from './jpeg.ts';
import { barePng } from './png.ts';
import { bareWebp } from './webp.ts';

/** A file without the parts that no picture needs. */
export interface Bare {
  file: Buffer;
  /** Empty where the data were followed to their end. */
  trials(): Iterable<Trial>;
}

/** Copies of a still picture with other bytes at the end of a part of its data. If one is drawn like it, there are bytes behind its pixels. */
export interface Trial {
  picture: Buffer;
  changed: Buffer[];
}

/** Returns the data with that many other bytes before `end`. */
export function withOtherEnd(data: Buffer, count: number, end = data.length): Buffer {
  const changed = Buffer.from(data);
  for (let at = Math.max(0, end - count); at < end; at++) changed[at] = ~changed.readUInt8(at);
  return changed;
}

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
    return Buffer.isBuffer(bare) ? { file: bare, trials: () => [] } : bare;
  } catch {
    // A length points outside the file, or a stream is damaged.
    return null;
  }
}
