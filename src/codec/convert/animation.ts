import type { SharpConstructor } from './sharp.ts';

/** An animation as full frames, in a format that sharp cannot decode. */
export interface Animation {
  width: number;
  height: number;
  count: number;
  /** Number of times it is played; 0: forever. */
  loop: number;
  frames(): AsyncIterable<Frame>;
}

/** The output of another decoder for a file that sharp cannot read: a PNG of its first frame, and the animation. */
export interface Decoded {
  png: Buffer;
  frames: number;
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

/** Draws all frames in that size. */
export async function drawStrip(
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
