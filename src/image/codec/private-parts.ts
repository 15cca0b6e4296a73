import type { Metadata } from './sharp.ts';

/** What the metadata of a picture tell of its owner: where it was taken, or anything else. */
export const PRIVATE_PARTS = ['location', 'metadata'] as const;
export type PrivatePart = (typeof PRIVATE_PARTS)[number];

type Told = Pick<Metadata, 'exif' | 'xmp' | 'iptc' | 'comments'>;

/** EXIF 2.3, 4.6.3: the entry of the first directory that points to the GPS directory, and its two coordinates. */
const GPS_POINTER = 0x8825;
const COORDINATES = [2, 4];

/** Which of them a picture has; pure. */
export function privatePartsOf({ exif, xmp, iptc, comments }: Told): PrivatePart[] {
  const hasLocation = (exif && hasCoordinates(exif)) || xmp?.includes('GPSLatitude') === true;
  const parts: PrivatePart[] = hasLocation ? ['location'] : [];
  if (exif || xmp || iptc || comments?.length) parts.push('metadata');
  return parts;
}

/** Whether EXIF data name a place. What is broken counts as not there. */
function hasCoordinates(exif: Buffer): boolean {
  const tiff = exif.subarray(exif.toString('latin1', 0, 4) === 'Exif' ? 6 : 0);
  try {
    const isLittle = tiff.toString('latin1', 0, 2) === 'II';
    const entries = (at: number) => entriesAt(tiff, at, isLittle);
    const pointer = entries(long(tiff, 4, isLittle)).get(GPS_POINTER);
    if (pointer === undefined) return false;
    const gps = entries(pointer);
    return COORDINATES.every((tag) => gps.has(tag));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** A directory of TIFF 6.0: its tags, with the four bytes of each value as a number. */
function entriesAt(tiff: Buffer, at: number, isLittle: boolean): Map<number, number> {
  const count = short(tiff, at, isLittle);
  const entries = new Map<number, number>();
  for (let entry = at + 2; entry < at + 2 + count * 12; entry += 12) {
    entries.set(short(tiff, entry, isLittle), long(tiff, entry + 8, isLittle));
  }
  return entries;
}

function short(bytes: Buffer, at: number, isLittle: boolean): number {
  return isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
}

function long(bytes: Buffer, at: number, isLittle: boolean): number {
  return isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
}
