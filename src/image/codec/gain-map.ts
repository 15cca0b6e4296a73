import { hasGainMap } from './jpeg-parts.ts';
import { type OutputInfo, type Sharp, withGainMaps } from './sharp.ts';

/** sharp's types do not include it yet. */
interface WithGainMap extends Sharp {
  keepGainMap(): this;
}

/**
 * Returns the picture as a JPEG with the gain map of its source, or `null` if the decoder does not support that kind,
 * such as Apple's from before 2024. The map is rotated and scaled with the picture.
 */
export async function jpegWithGainMap(
  picture: Sharp,
): Promise<{ data: Buffer<ArrayBuffer>; info: OutputInfo } | null> {
  const pipeline = (picture.clone() as WithGainMap).keepGainMap().jpeg({ quality: 82 });
  const made = await withGainMaps(() => pipeline.toBuffer({ resolveWithObject: true })).catch(() => null);
  return made && hasGainMap(made.data) ? made : null;
}
