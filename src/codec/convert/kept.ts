import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Format } from '../format.ts';
import { bareAvif } from '../kept/avif.ts';
import { bareGif } from '../kept/gif.ts';
import { bareJpeg } from '../kept/jpeg.ts';
import { barePng } from '../kept/png.ts';
import type { Bare } from '../kept/trials.ts';
import { bareWebp } from '../kept/webp.ts';
import type { SharpConstructor } from './sharp.ts';
import { INPUT } from './sharp.ts';

/** Pixels that are drawn at most to look at a file: some four seconds of CPU. */
const MOST_DRAWN = 3e8;
/** Pixels that are drawn at once: they are still in memory when a picture is encoded once more, which fails with more. */
const MOST_AT_ONCE = 5e7;
/** Changes of bytes that are tried. Now and then, arithmetic codes draw the same after one of them. */
const MASKS = [0xff, 0x55, 0xaa, 0x0f];

interface Asked {
  format: Format;
  /** How many are kept. */
  frames: number;
  keepsExif: boolean;
  /** Of one frame. */
  pixels: number;
}

/**
 * Returns a file without the parts that no picture needs. Returns `null` if its structure is not simple, if decoders complain about it
 * or draw it in another way, if bytes are left over, or if looking takes too long.
 */
export async function keptFile(
  path: string,
  { format, frames, keepsExif, pixels }: Asked,
  sharp: SharpConstructor,
): Promise<Buffer | null> {
  const atOnce = Math.min(frames, Math.floor(MOST_AT_ONCE / pixels));
  // A decoder begins with the first frame each time.
  let left = MOST_DRAWN - pixels * frames * (1 + Math.ceil(frames / atOnce));
  if (atOnce === 0 || left < 0) return null;
  const file = await readFile(path);
  const bare = bareFile(file, format, keepsExif);
  if (!bare || bare.file.length > file.length) return null;
  const drawn = async (picture: Buffer, failOn: 'error' | 'warning', count: number) => {
    const hash = createHash('sha256');
    for (let page = 0; page < count; page += atOnce) {
      const part = { page, pages: Math.min(atOnce, count - page) };
      const drawing = sharp(picture, { ...INPUT, failOn, ...(count > 1 && part) })
        .ensureAlpha()
        .raw()
        .toBuffer();
      const data = await drawing.catch(() => null);
      if (data === null) return null;
      hash.update(data);
    }
    return hash.digest('hex');
  };
  const shown = await drawn(bare.shown ?? bare.file, 'warning', frames);
  if (shown === null || shown !== (await drawn(file, 'error', frames))) return null;
  // EXIF where no viewer looked for it would turn the picture now.
  if (((await sharp(bare.file, INPUT).metadata()).orientation ?? 1) !== 1) return null;
  const shows = async (other: (mask: number) => Buffer, whole: string | null) => {
    for (const mask of MASKS) {
      left -= pixels;
      if (left < 0) return false;
      if ((await drawn(other(mask), 'warning', 1)) !== whole) return true;
    }
    return false;
  };
  for (const { picture, changed } of bare.trials?.() ?? []) {
    const isFile = picture === bare.file;
    left -= isFile ? 0 : pixels;
    const whole = isFile ? shown : await drawn(picture, 'warning', 1);
    for (const other of changed) if (!(await shows(other, whole))) return null;
  }
  return bare.file;
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
    return Buffer.isBuffer(bare) ? { file: bare } : bare;
  } catch {
    // A length points outside the file, or a stream is damaged.
    return null;
  }
}
