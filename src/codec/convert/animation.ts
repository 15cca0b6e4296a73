import type { Apng } from '../decoders/apng.ts';
import type { Cicp } from '../decoders/cicp.ts';
import { INPUT, type Metadata, type SharpConstructor } from './sharp.ts';

/** An animation as full frames, in a format that sharp cannot decode. */
export interface Animation {
  width: number;
  height: number;
  count: number;
  /** Number of times it is played; 0: forever. */
  loop: number;
  frames(): AsyncIterable<Frame>;
}

/** The output of another decoder for a file that sharp cannot read. */
export interface Decoded {
  /** Its first frame, as a PNG or AVIF. Missing if sharp reads it itself. */
  still?: Buffer;
  /** Metadata of the file, which `still` may lack. */
  told?: Pick<Metadata, 'exif' | 'xmp'>;
  /** Whether the file has other metadata, which are not read. */
  tells?: boolean;
  /** Whether what sharp takes for transparency is something else, such as a selection or a spot colour in a TIFF. */
  isOpaque?: boolean;
  /** Whether the samples of a grey TIFF rise from black to white, and none says that a place was not measured. */
  isMeasured?: boolean;
  /** Bytes of its pixels in a TIFF or WebP that packs them without loss. */
  packed?: number;
  /** Set for PNG. */
  cicp?: Cicp | null;
  apng?: Apng | null;
  /** If sharp does not count them itself. */
  frames?: number;
  animation: Animation | null;
}

interface Frame {
  /** RGBA, 8 bits each, in sRGB. The next frame may reuse them. */
  pixels: Uint8Array;
  /** In ms. */
  delay: number;
}

/** All frames of an animation, stacked vertically. */
export interface Strip {
  pixels: Uint8Array;
  /** Width of one frame. */
  width: number;
  height: number;
  delay: number[];
  loop: number;
}

/** An animation, or a file from which sharp reads one. */
interface Moving {
  animation: Animation | null;
  input: string | Buffer;
  header: Metadata;
}

/** Draws all frames of an animation in the size that fits into a box. */
export async function stripOf(
  { animation, input, header }: Moving,
  { box, scale }: { box: { width: number; height: number }; scale: number },
  sharp: SharpConstructor,
): Promise<Strip> {
  const side = (length: number) => Math.max(1, Math.round(length * scale));
  if (animation) {
    return drawStrip(animation, { width: side(animation.width), height: side(animation.height) }, sharp);
  }
  const opened = sharp(input, { ...INPUT, animated: true });
  const fitted = scale < 1 ? opened.resize({ ...box, fit: 'inside', withoutEnlargement: true }) : opened;
  const { data, info } = await fitted.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const height = info.pageHeight ?? info.height;
  const count = info.height / height;
  const delay = Array.from({ length: count }, (_, index) => header.delay?.[index] ?? 100);
  return { pixels: data, width: info.width, height, delay, loop: header.loop ?? 0 };
}

/** Draws all frames in that size. */
async function drawStrip(
  animation: Animation,
  { width, height }: { width: number; height: number },
  sharp: SharpConstructor,
): Promise<Strip> {
  const bytes = width * height * 4;
  const pixels = new Uint8Array(bytes * animation.count);
  const delay: number[] = [];
  for await (const frame of animation.frames()) {
    pixels.set(await resized(frame.pixels), bytes * delay.length);
    delay.push(frame.delay);
  }
  return { pixels, width, height, delay, loop: animation.loop };

  async function resized(frame: Uint8Array): Promise<Uint8Array> {
    if (width === animation.width && height === animation.height) return frame;
    const raw = { width: animation.width, height: animation.height, channels: 4 as const };
    return sharp(frame, { raw }).resize({ width, height, fit: 'fill' }).raw().toBuffer();
  }
}
