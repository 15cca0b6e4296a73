import { stat } from 'node:fs/promises';
import { type Static, Type } from '@sinclair/typebox';
import { oneOf } from '../../lib/schema.ts';
import { readHead } from '../decoders/bytes.ts';
import { hasCoordinates } from '../decoders/exif.ts';
import type { Metadata } from './sharp.ts';

/** What a conversion may lose, or make worse, without being asked to. */
export const WARNING_CODES = [
  'frames_dropped',
  'gain_map_dropped',
  'truncated',
  'metadata_dropped',
  'provenance_dropped',
  'resized',
  'larger',
] as const;

/** Sides in pixels, or bytes. */
export const Extent = Type.Union([
  Type.Object({ width: Type.Integer({ minimum: 1 }), height: Type.Integer({ minimum: 1 }) }),
  Type.Object({ bytes: Type.Integer({ minimum: 0 }) }),
]);

/** A loss as a sentence, with a code for programs. `resized` and `larger` say what it was and what it is. */
export const Warning = Type.Object({
  code: oneOf(WARNING_CODES),
  message: Type.String({ maxLength: 300 }),
  from: Type.Optional(Extent),
  to: Type.Optional(Extent),
});
export type Warning = Static<typeof Warning>;

/** Differences from what the uploader asked for: losses, or a picture that could not be added to its album. */
export const UPLOAD_WARNING_CODES = [...WARNING_CODES, 'not_in_album'] as const;

export type UploadWarning = Omit<Warning, 'code'> & { code: (typeof UPLOAD_WARNING_CODES)[number] };

/** What a picture's metadata reveal about its owner: where it was taken, or anything else. */
export const PRIVATE_PARTS = ['location', 'metadata'] as const;
export type PrivatePart = (typeof PRIVATE_PARTS)[number];

type Told = Pick<Metadata, 'exif' | 'xmp' | 'iptc' | 'comments'>;

/** Returns which of them a picture has. Pure. */
export function privatePartsOf(told: Told): PrivatePart[] {
  const parts: PrivatePart[] = tellsPlace(told) ? ['location'] : [];
  if (told.exif || told.xmp || told.iptc || told.comments?.length) parts.push('metadata');
  return parts;
}

/** Reports whether EXIF or XMP contain coordinates. */
export function tellsPlace({ exif, xmp }: Pick<Told, 'exif' | 'xmp'>): boolean {
  return (exif !== undefined && hasCoordinates(exif)) || xmp?.includes('GPSLatitude') === true;
}

/** Begins the description of every store of Content Credentials, in whatever format (C2PA 2.1, section 11.1.4.1). */
const CREDENTIALS = Buffer.from('6332706100110010800000aa00389b71', 'hex');
/** Stores are in front of the picture or, in WebP, behind it. */
const CREDENTIALS_BYTES = 262_144;

/** Reports whether the file has Content Credentials that its conversion to `made` does not have. */
export async function losesCredentials(path: string, made: Buffer): Promise<boolean> {
  const { size } = await stat(path);
  const places = [0, Math.max(0, size - CREDENTIALS_BYTES)];
  const ends = await Promise.all(places.map((at) => readHead(path, CREDENTIALS_BYTES, at)));
  return ends.some((end) => end.includes(CREDENTIALS)) && !made.includes(CREDENTIALS);
}
