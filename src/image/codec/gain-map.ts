import { hasGainMap } from './jpeg-parts.ts';
import { type OutputInfo, type Sharp, withGainMaps } from './sharp.ts';

/** Its types do not name it yet. */
interface WithGainMap extends Sharp {
  keepGainMap(): this;
}

/**
 * The picture as JPEG with the gain map of its source; `null` if the decoder of gain maps does not know that kind, as
 * Apple's of before 2024. Turned pictures take their map along, and smaller ones get a smaller one.
 */
export async function jpegWithGainMap(
  picture: Sharp,
): Promise<{ data: Buffer<ArrayBuffer>; info: OutputInfo } | null> {
  const pipeline = (picture.clone() as WithGainMap).keepGainMap().jpeg({ quality: 82 });
  const made = await withGainMaps(() => pipeline.toBuffer({ resolveWithObject: true })).catch(() => null);
  return made && hasGainMap(made.data) ? made : null;
}
