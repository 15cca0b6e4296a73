import { AppError } from '../../errors.ts';
import type { InputLimits } from './protocol.ts';

/** Maximum side that any decoder is asked for. Phone panoramas end near 20,000. */
const MAX_SIDE = 30_000;

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
      `The image is ${width} x ${height} pixels; neither side may exceed ${MAX_SIDE}.`,
    );
  }
  if (frames > maxFrames) {
    throw new AppError('image_limit', `The image has ${frames} frames; at most ${maxFrames} are allowed.`);
  }
  const pixels = width * height * frames;
  if (pixels > maxPixels) {
    const each = frames > 1 ? ` in each of ${frames} frames` : '';
    throw new AppError(
      'image_limit',
      `The image has ${width} x ${height} pixels${each}, ${pixels} in all; at most ${maxPixels} are allowed.`,
    );
  }
}
