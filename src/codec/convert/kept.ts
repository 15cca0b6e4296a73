import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Format } from '../format.ts';
import { bareFile } from '../kept/bare.ts';
import type { SharpConstructor } from './sharp.ts';
import { INPUT } from './source.ts';

/** Pixels that are drawn at most to look at a file: some four seconds of CPU. */
const MOST_DRAWN = 3e8;
/** Larger pictures are not looked at: what was drawn is still in memory when they are encoded once more, which then fails. */
const MOST_PIXELS = 5e7;

interface Asked {
  format: Format;
  animated: boolean;
  keepsExif: boolean;
  /** Of one frame, and of all. */
  pixels: { frame: number; all: number };
}

/**
 * Returns a file without the parts that no picture needs. Returns `null` if its structure is not simple, if decoders complain about it
 * or draw it in another way, if bytes are left over, or if looking takes too long.
 */
export async function keptFile(
  path: string,
  { format, animated, keepsExif, pixels }: Asked,
  sharp: SharpConstructor,
): Promise<Buffer | null> {
  let left = MOST_DRAWN - 2 * pixels.all;
  if (pixels.all > MOST_PIXELS) return null;
  const file = await readFile(path);
  const bare = bareFile(file, format, keepsExif);
  if (!bare || bare.file.length > file.length) return null;
  const drawn = async (picture: Buffer, failOn: 'error' | 'warning', all: boolean) => {
    const drawing = sharp(picture, { ...INPUT, failOn, animated: all })
      .ensureAlpha()
      .raw()
      .toBuffer();
    return drawing.then((data) => createHash('sha256').update(data).digest('hex')).catch(() => null);
  };
  const shown = await drawn(bare.shown ?? bare.file, 'warning', animated);
  if (shown === null || shown !== (await drawn(file, 'error', animated))) return null;
  // EXIF where no viewer looked for it would turn the picture now.
  if (((await sharp(bare.file, INPUT).metadata()).orientation ?? 1) !== 1) return null;
  for (const { picture, changed } of bare.trials?.() ?? []) {
    left -= pixels.frame * (changed.length + (picture === bare.file ? 0 : 1));
    if (left < 0) return null;
    const whole = picture === bare.file ? shown : await drawn(picture, 'warning', false);
    for (const other of changed) if ((await drawn(other, 'warning', false)) === whole) return null;
  }
  return bare.file;
}
