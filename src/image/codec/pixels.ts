import type { Format } from '../image.ts';
import type { Pixels } from './look.ts';
import type { ConvertJob } from './protocol.ts';
import type { Sharp, SharpConstructor } from './sharp.ts';
import { decoding, INPUT, type Source } from './source.ts';

/** Some 80 MB in memory. */
const MOST_PIXELS_TAKEN = 20e6;
const LOOK_SIDE = 128;

/**
 * Whether the decoded pixels are taken out whole, for the look and for the encoder alike, so that nothing is decoded twice. A JPEG
 * is decoded small at a tenth of the cost. What keeps metadata, frames or 16 bits goes straight to its encoder, and so does what
 * loses its transparency: the stored picture is the same whether it is looked at or not.
 */
export function inOnePass(
  { kind, header: { depth, hasAlpha } }: Source,
  { format, animated, pixels }: { format: Format; animated: boolean; pixels: number },
  { look, stripExif }: ConvertJob,
): boolean {
  const isPlain = depth === 'uchar' && !animated && stripExif && !(hasAlpha && format === 'jpeg');
  return look === true && isPlain && kind !== 'jpeg' && pixels <= MOST_PIXELS_TAKEN;
}

/** The pixels of a picture in sRGB. */
export function pixelsOf(picture: Sharp): Promise<Pixels> {
  return decoding(async () => {
    const { data, info } = await picture
      .clone()
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height, channels: info.channels };
  });
}

/** The pixels of a small version of the first frame, large enough for a look at it. */
export function smallPixelsOf({ input }: Source, sharp: SharpConstructor): Promise<Pixels> {
  const picture = sharp(input, INPUT).autoOrient();
  const box = { width: LOOK_SIDE, height: LOOK_SIDE, fit: 'inside', withoutEnlargement: true } as const;
  return pixelsOf(picture.resize(box));
}
