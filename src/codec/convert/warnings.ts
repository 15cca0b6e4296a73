import { hasCoordinates } from '../decoders/exif.ts';
import type { Metadata } from './sharp.ts';

/** What a conversion may lose without being asked to. */
export const WARNING_CODES = ['frames_dropped', 'gain_map_dropped', 'truncated', 'metadata_dropped'] as const;
type WarningCode = (typeof WARNING_CODES)[number];

/** A loss as a sentence, with a code for programs. */
export interface Warning {
  code: WarningCode;
  message: string;
}

/** Differences from what the uploader asked for: losses, or a picture that could not be added to its album. */
export const UPLOAD_WARNING_CODES = [...WARNING_CODES, 'not_in_album'] as const;

export interface UploadWarning {
  code: (typeof UPLOAD_WARNING_CODES)[number];
  message: string;
}

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
