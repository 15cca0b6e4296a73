import { AppError, message } from '../../errors.ts';
import type { InputLimits } from '../workers/protocol.ts';

/** Maximum side that any decoder is asked for. Phone panoramas end near 20,000. */
export const MAX_SIDE = 30_000;
/** Pixels of an animated AVIF that are decoded for all frames, those before them included: up to fifteen seconds of a core. */
export const MOST_DECODED = 6e8;

/**
 * Rejects a picture by the numbers in its header, before anything is decoded.
 * @throws {AppError} `image_limit`, with the numbers.
 */
export function checkLimits(
  { width, height, frames }: { width: number; height: number; frames: number },
  { maxPixels, maxFrames }: InputLimits,
): void {
  if (Math.max(width, height) > MAX_SIDE) {
    throw new AppError(
      'image_limit',
      message('The image is {width} x {height} pixels; neither side may exceed {most}.', {
        width,
        height,
        most: MAX_SIDE,
      }),
    );
  }
  if (frames > maxFrames) {
    throw new AppError(
      'image_limit',
      message('The image has {frames} frames; at most {most} are allowed.', { frames, most: maxFrames }),
    );
  }
  const pixels = width * height * frames;
  if (pixels > maxPixels) {
    const size = { width, height, pixels, most: maxPixels };
    throw new AppError(
      'image_limit',
      frames > 1
        ? message(
            'The image has {width} x {height} pixels in each of {frames} frames, {pixels} in all; at most {most} are allowed.',
            { ...size, frames },
          )
        : message(
            'The image has {width} x {height} pixels, {pixels} in all; at most {most} are allowed.',
            size,
          ),
    );
  }
}
