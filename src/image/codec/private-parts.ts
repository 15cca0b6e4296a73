import { hasCoordinates } from './exif.ts';
import type { Metadata } from './sharp.ts';

/** What a picture's metadata reveal about its owner: where it was taken, or anything else. */
export const PRIVATE_PARTS = ['location', 'metadata'] as const;
export type PrivatePart = (typeof PRIVATE_PARTS)[number];

type Told = Pick<Metadata, 'exif' | 'xmp' | 'iptc' | 'comments'>;

/** Returns which of them a picture has. Pure. */
export function privatePartsOf({ exif, xmp, iptc, comments }: Told): PrivatePart[] {
  const hasLocation = (exif && hasCoordinates(exif)) || xmp?.includes('GPSLatitude') === true;
  const parts: PrivatePart[] = hasLocation ? ['location'] : [];
  if (exif || xmp || iptc || comments?.length) parts.push('metadata');
  return parts;
}
