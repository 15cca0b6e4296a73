import { AppError } from '../../errors.ts';
import type { InputLimits } from './protocol.ts';

/** No decoder is asked for a side above this. Panoramas of phones end near 20,000. */
const MAX_SIDE = 30_000;

/**
 * Refuses a picture by the figures in its header, before anything is decoded.
 * @throws {AppError} `image_limit`, naming the figures.
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
