import type sharp from 'sharp';

export type { Metadata, Sharp, SharpOptions } from 'sharp';

/**
 * Loads sharp, the only way in. Called in worker processes alone: the server itself never maps libvips.
 * One thread a picture and no cache: the workers are the parallelism, and every input is seen once.
 */
export async function loadSharp(): Promise<typeof sharp> {
  const { default: loaded } = await import('sharp');
  loaded.concurrency(1);
  loaded.cache(false);
  return loaded;
}
