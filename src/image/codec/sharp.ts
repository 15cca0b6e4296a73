import type sharp from 'sharp';

export type { Metadata, Sharp, SharpOptions } from 'sharp';

/** The decoders of what is accepted (see header.ts), by their names in libvips. The rest never see a byte. */
const ACCEPTED = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'];

/**
 * Loads sharp, the only way in. Called in worker processes alone: the server itself never maps libvips.
 * One thread a picture and no cache: the workers are the parallelism, and every input is seen once.
 */
export async function loadSharp(): Promise<typeof sharp> {
  const { default: loaded } = await import('sharp');
  loaded.concurrency(1);
  loaded.cache(false);
  loaded.block({ operation: ['VipsForeignLoad'] });
  loaded.unblock({ operation: ACCEPTED.map((format) => `VipsForeignLoad${format}`) });
  return loaded;
}
