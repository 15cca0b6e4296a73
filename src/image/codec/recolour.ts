import { type Cicp, isPlain, toSrgb } from './cicp.ts';
import { writePng } from './png.ts';
import type { Metadata, SharpConstructor, SharpOptions } from './sharp.ts';

/**
 * Converts a still picture whose colours are given by codes rather than a profile to a PNG in sRGB, upright and with
 * its EXIF. Returns `null` if sharp reads the colours correctly itself.
 */
export async function recoloured(
  path: string,
  { depth, hasAlpha, exif }: Metadata,
  cicp: Cicp | null,
  { sharp, options }: { sharp: SharpConstructor; options: SharpOptions },
): Promise<Buffer | null> {
  if (cicp === null || isPlain(cicp)) return null;
  const isDeep = depth === 'ushort';
  // If there is also a profile, the codes take precedence.
  const opened = sharp(path, options).autoOrient().keepIccProfile().ensureAlpha();
  const drawn = isDeep ? opened.toColourspace('rgb16').raw({ depth: 'ushort' }) : opened.raw();
  const { data, info } = await drawn.toBuffer({ resolveWithObject: true });
  const numbers = isDeep ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
  const { width, height } = info;
  return writePng({ pixels: toSrgb(numbers, cicp), width, height, hasAlpha, exif });
}
