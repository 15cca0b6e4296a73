import type sharp from 'sharp';
import type { Metadata, Sharp, SharpOptions } from 'sharp';

export type { Metadata, OutputInfo, Sharp } from 'sharp';

export type SharpConstructor = typeof sharp;

/**
 * libvips' levels are truncated < error < warning. `warning` would reject photos that every viewer shows (stray bytes
 * before a marker, odd SOS parameters of some phones); `error` still rejects truncated and unreadable files.
 */
export const INPUT: SharpOptions = { failOn: 'error', limitInputPixels: false };

/** libvips' names of the decoders for accepted formats (see header.ts). The others never see a byte. */
const ACCEPTED = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'];

/**
 * Loads sharp; nothing else imports it. Called only in worker processes: the server itself never maps libvips. Uses
 * one thread a picture and no cache, because the workers run in parallel, and each input is seen only once.
 */
export async function loadSharp(): Promise<typeof sharp> {
  const { default: loaded } = await import('sharp');
  loaded.concurrency(1);
  loaded.cache(false);
  loaded.block({ operation: ['VipsForeignLoad'] });
  loaded.unblock({ operation: ACCEPTED.map((format) => `VipsForeignLoad${format}`) });
  return loaded;
}

/** Converts 16 bits a channel by their profile to sRGB. sharp itself leaves them in Display P3, and grey as it is. */
export function inSrgb(picture: Sharp, { space, icc }: Metadata): Sharp {
  const isGrey = space === 'grey16';
  const isDeep = isGrey || space === 'rgb16';
  if (!isDeep || icc?.toString('latin1', 16, 20) !== (isGrey ? 'GRAY' : 'RGB ')) return picture;
  return picture.withIccProfile('srgb', { attach: false }).toColourspace(isGrey ? 'b-w' : 'srgb');
}

/** The decoder of JPEG files with a gain map, which would replace the usual one: enabled only to keep the map. */
const WITH_GAIN_MAPS = ['VipsForeignLoadUhdr'];

/**
 * Enables reading gain maps while `work` runs. One picture at a time, because the setting applies to the whole
 * process.
 */
export async function withGainMaps<T>(work: () => Promise<T>): Promise<T> {
  const { default: loaded } = await import('sharp');
  loaded.unblock({ operation: WITH_GAIN_MAPS });
  try {
    return await work();
  } finally {
    loaded.block({ operation: WITH_GAIN_MAPS });
  }
}
