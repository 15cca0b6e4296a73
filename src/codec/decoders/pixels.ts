import type { Pixels } from '../convert/look.ts';
import { inSrgb, type Sharp, type SharpConstructor } from '../convert/sharp.ts';
import { decoding, openUpright, type Source } from '../convert/source.ts';
import type { Format } from '../format.ts';

/** Takes some 80 MB of memory. */
const MOST_PIXELS_TAKEN = 20e6;
const LOOK_SIDE = 128;

/**
 * Decides whether all decoded pixels are read into memory, for the hashes, the choice of quality and the encoder, so that
 * nothing is decoded twice. Pictures that keep frames or 16 bits go straight to the encoder, and so do those that lose their
 * transparency: the stored picture is the same whether it is hashed or not.
 */
export function inOnePass(
  { header: { depth, hasAlpha } }: Source,
  { format, animated, pixels }: { format: Format; animated: boolean; pixels: number },
): boolean {
  return depth === 'uchar' && !animated && !(hasAlpha && format === 'jpeg') && pixels <= MOST_PIXELS_TAKEN;
}

/** Returns the pixels of a picture in sRGB. */
export function pixelsOf(picture: Sharp, kind: Source['kind']): Promise<Pixels> {
  return decoding(kind, async () => {
    const { data, info } = await picture
      .clone()
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height, channels: info.channels };
  });
}

/** Returns the pixels of a small version of the first frame, large enough for the hashes. */
export function smallPixelsOf(source: Source, sharp: SharpConstructor): Promise<Pixels> {
  const picture = openUpright(source, false, sharp);
  const box = { width: LOOK_SIDE, height: LOOK_SIDE, fit: 'inside', withoutEnlargement: true } as const;
  return pixelsOf(inSrgb(picture.resize(box), source.header), source.kind);
}
