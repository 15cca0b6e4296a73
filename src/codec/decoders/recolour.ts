import { INPUT, type Metadata, type SharpConstructor } from '../convert/sharp.ts';
import { isPlain, toSrgb } from './cicp.ts';
import type { HeifParts } from './heif-boxes.ts';
import { withMetadata } from './png.ts';

/**
 * Converts a still picture whose colours are given by codes rather than a profile, or that is `narrowGrey`, `premultiplied` or rewritten, to an
 * upright PNG with its EXIF, in sRGB or with its profile. Returns `null` if sharp reads the colours correctly itself.
 */
export async function recoloured(
  input: string | Buffer,
  { depth, bitsPerSample, hasAlpha, exif, icc }: Metadata,
  { cicp = null, narrowGrey: narrow, premultiplied, rewritten }: Partial<HeifParts & { rewritten: boolean }>,
  sharp: SharpConstructor,
): Promise<Buffer | null> {
  // If there is also a profile, the codes take precedence.
  if (!narrow && !premultiplied && !rewritten && (cicp === null || (isPlain(cicp) && !icc))) return null;
  const isDeep = depth === 'ushort';
  const whole = sharp(input, INPUT).autoOrient().keepIccProfile();
  const stretched = narrow ? whole.linear(...stretch(bitsPerSample ?? 8, isDeep ? 65_535 : 255)) : whole;
  const opened = stretched.ensureAlpha();
  const drawn = isDeep ? opened.toColourspace('rgb16').raw({ depth: 'ushort' }) : opened.raw();
  const { data, info } = await drawn.toBuffer({ resolveWithObject: true });
  const numbers = isDeep ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
  if (premultiplied) divide(numbers, isDeep ? 65_535 : 255);
  const { width, height } = info;
  const pixels = toSrgb(numbers, cicp ?? { primaries: SRGB, transfer: SRGB_CURVE });
  const made = sharp(pixels, { ...INPUT, raw: { width, height, channels: 4 } });
  const png = await (hasAlpha ? made : made.removeAlpha()).png({ compressionLevel: 0 }).toBuffer();
  return withMetadata(png, { exif, icc: cicp || narrow ? undefined : icc });
}

const [SRGB, SRGB_CURVE] = [1, 13];

/** Divides the colours of RGBA by its alpha. */
export function divide(numbers: Uint8Array | Uint8ClampedArray | Uint16Array, most: number): void {
  for (let at = 0; at < numbers.length; at++) {
    const alpha = numbers[at | 3] || most;
    if ((at & 3) < 3) numbers[at] = Math.min(most, Math.round(((numbers[at] ?? 0) * most) / alpha));
  }
}

/** Returns factor and offset that make black and white, 16 and 235 in 8 bits, the ends of the range. */
function stretch(bits: number, most: number): [factor: number, offset: number] {
  const [black, white, top] = [16, 235, 256].map((level) => level << (bits - 8)) as [number, number, number];
  const factor = (top - 1) / (white - black);
  return [factor, (-black / (top - 1)) * most * factor];
}
