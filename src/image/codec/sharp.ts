import type sharp from 'sharp';

export type { Metadata, OutputInfo, Sharp, SharpOptions } from 'sharp';

export type SharpConstructor = typeof sharp;

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

/** The decoder of JPEG files with a gain map, which takes them from the usual one: only if the map is kept. */
const WITH_GAIN_MAPS = ['VipsForeignLoadUhdr'];

/** Lets gain maps be read while that work is done. One picture at a time: the setting is that of the process. */
export async function withGainMaps<T>(work: () => Promise<T>): Promise<T> {
  const { default: loaded } = await import('sharp');
  loaded.unblock({ operation: WITH_GAIN_MAPS });
  try {
    return await work();
  } finally {
    loaded.block({ operation: WITH_GAIN_MAPS });
  }
}
