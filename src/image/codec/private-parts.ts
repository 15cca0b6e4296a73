import { hasCoordinates } from './exif.ts';
import type { Metadata } from './sharp.ts';

/** What the metadata of a picture tell of its owner: where it was taken, or anything else. */
export const PRIVATE_PARTS = ['location', 'metadata'] as const;
export type PrivatePart = (typeof PRIVATE_PARTS)[number];

type Told = Pick<Metadata, 'exif' | 'xmp' | 'iptc' | 'comments'>;

/** Which of them a picture has; pure. */
export function privatePartsOf({ exif, xmp, iptc, comments }: Told): PrivatePart[] {
  const hasLocation = (exif && hasCoordinates(exif)) || xmp?.includes('GPSLatitude') === true;
  const parts: PrivatePart[] = hasLocation ? ['location'] : [];
  if (exif || xmp || iptc || comments?.length) parts.push('metadata');
  return parts;
}
