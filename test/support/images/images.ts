import { randomBytes } from 'node:crypto';
import sharp, { type Sharp } from 'sharp';
import { createRandom } from '../random.ts';

/** Colours of the quarters of the test picture, upright: top left, top right, bottom left, bottom right. */
export const QUARTERS = [
  [220, 30, 30],
  [30, 200, 30],
  [30, 30, 220],
  [240, 240, 240],
] as const;

/** A string that EXIF, XMP and comments of `privatePhoto` carry, to be looked for in outputs. */
export const SECRET = 'Secret-Harbour-51.5N';

/** Upright picture of four coloured quarters, without any metadata. */
export function quarters(width = 96, height = 64): Sharp {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const quarter = QUARTERS[(y < height / 2 ? 0 : 2) + (x < width / 2 ? 0 : 1)] ?? QUARTERS[0];
      pixels.set(quarter, (y * width + x) * 3);
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

/** How an upright picture has to lie in the file so that a viewer that obeys the EXIF orientation shows it upright. */
const LAY: Record<number, (upright: Sharp) => Sharp[]> = {
  1: (upright) => [upright],
  2: (upright) => [upright.flop()],
  3: (upright) => [upright.rotate(180)],
  4: (upright) => [upright.flip()],
  5: (upright) => [upright.rotate(90), sharp().flop()],
  6: (upright) => [upright.rotate(270)],
  7: (upright) => [upright.rotate(90), sharp().flip()],
  8: (upright) => [upright.rotate(90)],
};

const PLACE = {
  GPSLatitudeRef: 'N',
  GPSLatitude: '51/1 30/1 0/1',
  GPSLongitudeRef: 'E',
  GPSLongitude: '0/1 7/1 0/1',
};

/** What a camera writes of a photo, with a place. */
export const CAMERA_EXIF = {
  IFD0: { Make: 'Canon', Model: 'Canon EOS R5' },
  IFD2: {
    LensModel: 'RF 50mm F1.2 <L>',
    ExposureTime: '1/250',
    FNumber: '28/10',
    ISOSpeedRatings: '400',
    FocalLength: '50/1',
    DateTimeOriginal: '2024:05:01 12:30:00',
  },
  IFD3: PLACE,
};

/** A picture in a file format, with the given EXIF orientation (1 to 8), GPS, XMP and a Display P3 profile. */
export async function privatePhoto(
  format: 'jpeg' | 'png' | 'webp' | 'avif' | 'tiff',
  orientation = 1,
  [width, height]: readonly [number, number] = [96, 64],
): Promise<Buffer> {
  let picture = quarters(width, height);
  for (const step of LAY[orientation]?.(picture) ?? []) {
    picture = step === picture ? step : await piped(picture, step);
  }
  const laid = await picture.png().toBuffer();
  return sharp(laid)
    .withMetadata({ orientation })
    .withExif({
      IFD0: { Copyright: SECRET, Orientation: String(orientation) },
      IFD3: PLACE,
    })
    .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/"><note>${SECRET}</note></x:xmpmeta>`)
    .withIccProfile('p3')
    .toFormat(format, { quality: 92 })
    .toBuffer();
}

async function piped(picture: Sharp, step: Sharp): Promise<Sharp> {
  const png = await picture.png().toBuffer();
  step.end(png);
  return sharp(await step.png().toBuffer());
}

/** An animation of three frames (red, green, blue) of 100, 200 and 300 ms. */
export async function animation(
  format: 'gif' | 'webp',
  { frames = 3, width = 48, height = 32, loop = 2 } = {},
): Promise<Buffer> {
  const pictures = await Promise.all(
    Array.from({ length: frames }, (_, index) => {
      const [r, g, b] = QUARTERS[index % 3] ?? QUARTERS[0];
      return sharp({ create: { width, height, channels: 3, background: { r, g, b } } })
        .png()
        .toBuffer();
    }),
  );
  const delay = pictures.map((_, index) => 100 * ((index % 3) + 1));
  const joined = sharp(pictures, { join: { animated: true } });
  return format === 'gif'
    ? joined.gif({ delay, loop }).toBuffer()
    : joined.webp({ delay, loop, lossless: true }).toBuffer();
}

/** Left half transparent, right half red. */
export async function transparent(format: 'png' | 'webp' | 'gif' | 'avif' = 'png'): Promise<Buffer> {
  const pixels = Buffer.alloc(64 * 48 * 4);
  for (let at = 0; at < pixels.length; at += 4) if ((at / 4) % 64 >= 32) pixels.set([220, 30, 30, 255], at);
  return sharp(pixels, { raw: { width: 64, height: 48, channels: 4 } })
    .toFormat(format)
    .toBuffer();
}

/** The quarters in unusual forms of storage. */
export const unusual: Record<string, () => Promise<Buffer>> = {
  '16-bit PNG': () => quarters().toColourspace('rgb16').png().toBuffer(),
  'CMYK JPEG': () => quarters().toColourspace('cmyk').withIccProfile('cmyk').jpeg({ quality: 95 }).toBuffer(),
  'palette PNG': () => quarters().png({ palette: true }).toBuffer(),
  'progressive JPEG': () => quarters().jpeg({ progressive: true, quality: 95 }).toBuffer(),
  'interlaced PNG': () => quarters().png({ progressive: true }).toBuffer(),
  'Display P3 JPEG': () => quarters().withIccProfile('p3').jpeg({ quality: 95 }).toBuffer(),
  'lossless WebP': () => quarters().webp({ lossless: true }).toBuffer(),
  TIFF: () => quarters().tiff({ compression: 'lzw' }).toBuffer(),
};

/** The quarters in grey. */
export function greyscale(): Promise<Buffer> {
  return quarters().greyscale().jpeg({ quality: 95 }).toBuffer();
}

/** A picture with as much detail as a photo (edges, gradients, grain); the same for the same arguments. */
export async function photo(width: number, height: number, seed = 1): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3);
  let state = seed >>> 0 || 1;
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      const grain = (state & 15) - 7;
      const hill = Math.sin(x / (37 + seed)) * 40 + Math.cos(y / 53) * 40;
      const edge = (Math.hypot((x % 400) - 200, (y % 300) - 150) < 90 ? 60 : 0) + ((x ^ y) & 64 ? 12 : 0);
      const light = 90 + hill + edge + grain;
      pixels[at++] = Math.max(0, Math.min(255, light + (y / height) * 50));
      pixels[at++] = Math.max(0, Math.min(255, light));
      pixels[at++] = Math.max(0, Math.min(255, light + (x / width) * 50));
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
}

/** The colours in the middles of the four quarters of an encoded picture (of its first frame). */
export async function quarterColours(encoded: Buffer): Promise<number[][]> {
  const { data, info } = await sharp(encoded)
    .flatten({ background: '#000000' })
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => {
    const start = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
    const [r = 0, g = r, b = r] = data.subarray(start, start + info.channels);
    return [r, g, b];
  };
  return [at(0.25, 0.25), at(0.75, 0.25), at(0.25, 0.75), at(0.75, 0.75)];
}

/** A PNG of panels and lines of one-pixel strokes like text: few colours, sharp edges. The same for the same seed. */
export function screenshot(width: number, height: number, seed = 1): Promise<Buffer> {
  const random = createRandom(seed);
  const pixels = Buffer.alloc(width * height * 3, 250);
  const fill = (left: number, top: number, wide: number, high: number, shade: number) => {
    for (let y = top; y < Math.min(height, top + high); y++) {
      const end = Math.min(width, left + wide);
      if (left < end) pixels.fill(shade, (y * width + left) * 3, (y * width + end) * 3);
    }
  };
  const glyphs = Array.from({ length: 30 }, () => Array.from({ length: 5 }, () => random() < 0.5));
  fill(0, 0, width, 40, 60);
  fill(0, 40, Math.round(width / 5), height, 230);
  for (let top = 60; top < height - 10; top += 18) {
    const end = width * (0.3 + 0.6 * random());
    for (let left = 20; left < end; left += 8) {
      const glyph = glyphs[Math.floor(random() * glyphs.length)] ?? [];
      glyph.forEach((stroke, row) => {
        fill(left, top + row * 2, stroke ? 6 : 1, 1, 20);
      });
      fill(left, top, 1, 10, 20);
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/** Returns a PNG of noise, which cannot be compressed: 3 bytes a pixel. */
export function noise(width: number, height: number): Promise<Buffer> {
  const raw = { width, height, channels: 3 } as const;
  return sharp(randomBytes(width * height * 3), { raw })
    .png({ compressionLevel: 0 })
    .toBuffer();
}
