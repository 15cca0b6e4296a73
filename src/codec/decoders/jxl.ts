import { readFile } from 'node:fs/promises';
import { brotliDecompressSync } from 'node:zlib';
import { initSync, JxlImage } from 'jxl-oxide-wasm';
import { assetPath } from '../../assets.ts';
import { once } from '../../lib/once.ts';
import type { Decoded } from '../convert/animation.ts';
import { checkLimits } from '../convert/limits.ts';
import type { SharpConstructor } from '../convert/sharp.ts';
import type { InputLimits } from '../workers/protocol.ts';
import { damaged } from './bytes.ts';
import { type Box, boxesIn } from './heif-boxes.ts';
import { withMetadata } from './png.ts';

/** Enough to identify the picture. */
const HEAD_BYTES = 4096;
/** More metadata than pictures have. */
const MOST_UNPACKED = 2 ** 22;

/**
 * Decodes a JPEG XL file, because sharp's build has no decoder for it, in sRGB, upright, with EXIF and XMP. Takes 0.6 to 0.9 s of a core for each
 * megapixel.
 * @throws {AppError} `image_limit`; anything else if it is damaged or truncated.
 */
export async function decodeJxl(
  file: Buffer,
  limits: InputLimits,
  sharp: SharpConstructor,
): Promise<Decoded> {
  await load();
  const image = new JxlImage();
  image.forceSrgb = true;
  image.feedBytes(file.subarray(0, HEAD_BYTES));
  let { length: fed } = file.subarray(0, HEAD_BYTES);
  while (!image.tryInit() && fed < file.length) {
    image.feedBytes(file.subarray(fed, fed + HEAD_BYTES));
    fed += HEAD_BYTES;
  }
  const { width = 0, height = 0 } = image;
  checkLimits({ width, height, frames: 1 }, limits);
  if (fed < file.length) image.feedBytes(file.subarray(fed));
  const frames = image.numLoadedKeyframes;
  if (!image.loaded || frames === 0) throw damaged();
  checkLimits({ width, height, frames }, limits);
  const loop = image.numLoops ?? 0;

  async function* seen() {
    for (let frame = 0; frame < frames; frame++) {
      const { png, duration } = draw(image, frame);
      const pixels = await sharp(png).toColourspace('srgb').ensureAlpha().raw().toBuffer();
      yield { pixels, delay: Math.round(duration) };
    }
  }
  const { png } = draw(image, 0);
  const read = metadataIn(file);
  return {
    still: withMetadata(png, read),
    tells: [!read.exif && boxNamed(file, 'Exif'), !read.xmp && boxNamed(file, 'xml ')].some(Boolean),
    frames,
    animation: frames > 1 ? { width, height, count: frames, loop, frames: seen } : null,
  };
}

/** One decoder for all pictures of a worker, because compiling it is slow. */
const load = once(async () =>
  initSync({ module: await readFile(assetPath('../node_modules/jxl-oxide-wasm/jxl_oxide_wasm_bg.wasm')) }),
);

function draw(image: JxlImage, frame: number): { png: Buffer; duration: number } {
  const result = image.render(frame);
  // The next call frees it.
  const { duration } = result;
  return { png: Buffer.from(result.encodeToPng()), duration };
}

/** Returns EXIF, which begins behind its offset, and XMP (ISO/IEC 18181-2, section 9). Broken ones count as missing. */
function metadataIn(file: Buffer): { exif?: Buffer | undefined; xmp?: Buffer | undefined } {
  const exif = unpacked(boxNamed(file, 'Exif'));
  return {
    exif: exif && exif.length > 4 ? exif.subarray(4 + exif.readUInt32BE(0)) : undefined,
    xmp: unpacked(boxNamed(file, 'xml ')),
  };
}

function boxNamed(file: Buffer, name: string): Box | undefined {
  return boxesIn(file).find(
    ({ type, body }) => type === name || (type === 'brob' && body.toString('latin1', 0, 4) === name),
  );
}

/** Returns the content of a box, which encoders usually pack by Brotli. One that is too large counts as missing. */
function unpacked({ type, body }: Partial<Box> = {}): Buffer | undefined {
  if (type !== 'brob' || !body) return body && body.length <= MOST_UNPACKED ? body : undefined;
  try {
    return brotliDecompressSync(body.subarray(4), { maxOutputLength: MOST_UNPACKED });
  } catch {
    return undefined;
  }
}
