import type { Animation } from '../convert/animation.ts';
import { INPUT, inSrgb, type Metadata, type SharpConstructor } from '../convert/sharp.ts';
import { type Apng, type ApngFrame, frameAsPng } from './apng.ts';
import { type Cicp, isPlain, toSrgb } from './cicp.ts';
import { withMetadata } from './png.ts';

/** Returns an animated PNG as full frames, each composed over what the ones before have left. */
export function animationOf(
  apng: Apng,
  { sharp, header, cicp }: { sharp: SharpConstructor; header: Metadata; cicp: Cicp | null },
): Animation {
  const { width, height, plays, frames } = apng;

  async function* seen() {
    const canvas = new Uint8Array(width * height * 4);
    const coded = cicp && (header.icc || !isPlain(cicp)) ? cicp : null;
    for (const [index, frame] of frames.entries()) {
      const own = frameAsPng(apng, frame);
      const isDeep = header.depth === 'ushort' && !coded;
      const file = isDeep
        ? await inSrgb(sharp(own, INPUT), header).png({ compressionLevel: 0 }).toBuffer()
        : own;
      const picture = sharp(file, INPUT).toColourspace('srgb').ensureAlpha();
      const drawn = await (coded ? picture.keepIccProfile() : picture).raw().toBuffer();
      const pixels = coded ? toSrgb(drawn, coded) : drawn;
      // There is nothing before the first frame.
      const before = frame.dispose === 'restore' && index > 0 ? canvas.slice() : null;
      lay(pixels, frame, canvas, width);
      yield { pixels: canvas, delay: frame.delay };
      if (before) canvas.set(before);
      else if (frame.dispose !== 'keep') clear(frame, canvas, width);
    }
  }
  return { width, height, count: frames.length, loop: plays, frames: seen };
}

/** Returns the first frame as a PNG, upright and with the EXIF of the file. */
export async function firstAsPng(
  { width, height, frames }: Animation,
  { orientation, exif }: Metadata,
  sharp: SharpConstructor,
): Promise<Buffer> {
  const { value: first } = await frames()[Symbol.asyncIterator]().next();
  const drawn = sharp(first.pixels, { ...INPUT, raw: { width, height, channels: 4 } });
  const turned = await drawn.withMetadata({ orientation }).png({ compressionLevel: 0 }).toBuffer();
  const upright = sharp(turned, INPUT).autoOrient().png({ compressionLevel: 0 });
  return withMetadata(await upright.toBuffer(), { exif });
}

function lay(
  pixels: Uint8Array | Uint8ClampedArray,
  frame: ApngFrame,
  canvas: Uint8Array,
  canvasWidth: number,
): void {
  const rowBytes = frame.width * 4;
  for (let row = 0; row < frame.height; row++) {
    const source = pixels.subarray(row * rowBytes, (row + 1) * rowBytes);
    const at = ((frame.y + row) * canvasWidth + frame.x) * 4;
    if (frame.over) layOver(source, canvas, at);
    else canvas.set(source, at);
  }
}

/** Blends with straight alpha (PNG, third edition, section 11.3.6.2). */
function layOver(source: Uint8Array | Uint8ClampedArray, canvas: Uint8Array, start: number): void {
  for (let from = 0, to = start; from < source.length; from += 4, to += 4) {
    const above = source[from + 3] ?? 0;
    if (above === 0) continue;
    const below = above === 255 ? 0 : ((canvas[to + 3] ?? 0) * (255 - above)) / 255;
    const alpha = above + below;
    for (let channel = 0; channel < 3; channel++) {
      const mixed = (source[from + channel] ?? 0) * above + (canvas[to + channel] ?? 0) * below;
      canvas[to + channel] = Math.round(mixed / alpha);
    }
    canvas[to + 3] = Math.round(alpha);
  }
}

function clear({ x, y, width, height }: ApngFrame, canvas: Uint8Array, canvasWidth: number): void {
  for (let row = y; row < y + height; row++) {
    canvas.fill(0, (row * canvasWidth + x) * 4, (row * canvasWidth + x + width) * 4);
  }
}
