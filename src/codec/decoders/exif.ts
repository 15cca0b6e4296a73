import type { TakenWith } from '../../lib/taken-with.ts';
import { integersOf, orNothing } from './bytes.ts';

/** EXIF 2.32, section 4.6: tags of the first directory, the EXIF directory, and the GPS directory. */
const MAKE = 0x010f;
const MODEL = 0x0110;
const EXIF_POINTER = 0x8769;
const GPS_POINTER = 0x8825;
const EXPOSURE_TIME = 0x829a;
const F_NUMBER = 0x829d;
const ISO = 0x8827;
const DATE_TIME_ORIGINAL = 0x9003;
const FOCAL_LENGTH = 0x920a;
const LENS_MODEL = 0xa434;
/** Latitude and longitude. */
const COORDINATES = [2, 4];

/** TIFF 6.0, section 2: types of values. */
const ASCII = 2;
const SHORT = 3;
const LONG = 4;
const RATIONAL = 5;

/** Maximum length of the name of a camera or a lens. */
const MOST_LETTERS = 80;

/** An entry of a directory: its type, the number of values, and their offset or the position of that offset. */
interface Entry {
  type: number;
  count: number;
  at: number;
}

/** Reports whether EXIF data contain coordinates. Broken data count as none. */
export function hasCoordinates(exif: Buffer): boolean {
  const has = orNothing(() => {
    const reader = readerOf(exif);
    const gps = reader.directory(reader.whole(reader.directory(0).get(GPS_POINTER)));
    return COORDINATES.every((tag) => gps.has(tag));
  });
  return has ?? false;
}

/** Returns how a picture was taken according to its EXIF data, or `null` if they do not say. Pure. */
export function takenWith(exif: Buffer): TakenWith | null {
  return orNothing(() => {
    const reader = readerOf(exif);
    const first = reader.directory(0);
    const own = reader.directory(reader.whole(first.get(EXIF_POINTER)));
    const found: { [K in Exclude<keyof TakenWith, 'place'>]: TakenWith[K] | undefined } = {
      camera: cameraOf(reader.text(first.get(MAKE)), reader.text(first.get(MODEL))),
      lens: reader.text(own.get(LENS_MODEL)),
      exposure: reader.fraction(own.get(EXPOSURE_TIME)),
      aperture: reader.fraction(own.get(F_NUMBER)),
      iso: reader.whole(own.get(ISO)),
      focalLength: reader.fraction(own.get(FOCAL_LENGTH)),
      taken: clockOf(reader.text(own.get(DATE_TIME_ORIGINAL))),
    };
    const known = Object.entries(found).filter(([, value]) => value !== undefined);
    return known.length > 0 ? (Object.fromEntries(known) as TakenWith) : null;
  });
}

/** Most makers repeat their name in the name of the model. */
function cameraOf(make: string | undefined, model: string | undefined): string | undefined {
  if (make === undefined || model === undefined) return model ?? make;
  const [first = ''] = make.split(' ');
  return model.toLowerCase().startsWith(first.toLowerCase()) ? model : `${make} ${model}`;
}

/** Turns `2024:05:01 12:30:00` into `2024-05-01T12:30:00`. Cameras whose clock is not set write spaces or zeros. */
function clockOf(text: string | undefined): string | undefined {
  const [, day, time] = /^(\d{4}:\d{2}:\d{2}) (\d{2}:\d{2}:\d{2})$/.exec(text ?? '') ?? [];
  if (day === undefined || time === undefined) return undefined;
  const clock = `${day.replaceAll(':', '-')}T${time}`;
  return Number.isNaN(Date.parse(`${clock}Z`)) ? undefined : clock;
}

/**
 * Reads the directories of TIFF 6.0, after the six bytes that JPEG puts before them. Broken values and those of another type count
 * as missing.
 */
function readerOf(exif: Buffer) {
  const tiff = exif.subarray(exif.toString('latin1', 0, 4) === 'Exif' ? 6 : 0);
  const integers = integersOf(tiff);
  const short = (at: number) => integers.short(tiff, at);
  const long = (at: number) => integers.long(tiff, at);
  return {
    directory(pointer: number | undefined): Map<number, Entry> {
      const entries = new Map<number, Entry>();
      if (pointer === undefined) return entries;
      const start = pointer === 0 ? long(4) : pointer;
      const end = start + 2 + short(start) * 12;
      for (let at = start + 2; at < end; at += 12) {
        entries.set(short(at), { type: short(at + 2), count: long(at + 4), at: at + 8 });
      }
      return entries;
    },
    text(entry: Entry | undefined): string | undefined {
      if (entry?.type !== ASCII) return undefined;
      const start = entry.count > 4 ? long(entry.at) : entry.at;
      const end = start + Math.min(entry.count, MOST_LETTERS);
      const [text = ''] = tiff.toString('utf8', start, end).split('\0');
      // Removes invisible characters, and those that change the direction of text.
      return text.replace(/[\p{C}\ufffd]/gu, '').trim() || undefined;
    },
    /** Returns an integer, such as ISO or an offset in the data. */
    whole(entry: Entry | undefined): number | undefined {
      if (entry?.count !== 1) return undefined;
      if (entry.type === SHORT) return short(entry.at);
      return entry.type === LONG ? long(entry.at) : undefined;
    },
    /** Returns a fraction above zero. */
    fraction(entry: Entry | undefined): number | undefined {
      if (entry?.type !== RATIONAL || entry.count !== 1) return undefined;
      const start = long(entry.at);
      const value = long(start) / long(start + 4);
      return value > 0 && Number.isFinite(value) ? Number(value.toPrecision(6)) : undefined;
    },
  };
}
