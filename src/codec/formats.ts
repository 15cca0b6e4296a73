import { readHead } from './decoders/bytes.ts';
import type { Format } from './format.ts';

/** Names of the formats that may be uploaded, for people. */
export const ACCEPTED = {
  jpeg: 'JPEG',
  png: 'PNG',
  webp: 'WebP',
  gif: 'GIF',
  avif: 'AVIF',
  heic: 'HEIC',
  tiff: 'TIFF',
  jxl: 'JPEG XL',
  bmp: 'BMP',
  ico: 'ICO',
};

type AcceptedFormat = keyof typeof ACCEPTED;

/** Formats in which an animation can be stored. */
export const MOVING: readonly Format[] = ['webp', 'gif', 'png'];

/** Returns the formats that may be uploaded. */
export function acceptedFormats(heic: boolean): AcceptedFormat[] {
  const all = Object.keys(ACCEPTED) as AcceptedFormat[];
  return heic ? all : all.filter((format) => format !== 'heic');
}

/** Returns their names for people. */
export function acceptedNames(heic: boolean): string[] {
  return acceptedFormats(heic).map((format) => ACCEPTED[format]);
}

/** Returns a list in words, such as `JPEG, PNG and TIFF`. */
export function inWords(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '').join(' and ');
}

/** Formats that people send but that are not accepted, by their first bytes. The first match counts. */
const OTHERS: readonly [pattern: RegExp, name: string][] = [
  [/^(\0\0\0\x0cjP {2}|\xff\x4f\xff\x51)/, 'a JPEG 2000 picture'],
  [/^8BPS/, 'a Photoshop file'],
  [/^%PDF-/, 'a PDF'],
  [/^(\xef\xbb\xbf)?\s*<(svg|(\?xml|!--|!doctype svg).*<svg)/is, 'an SVG drawing'],
  [/^(\xef\xbb\xbf)?\s*<(!doctype html|html)/i, 'a web page'],
  [/^\x1a\x45\xdf\xa3/, 'a WebM or Matroska video'],
  [/^(FUJIFILM|IIU\0|IIR[OS]|....ftypcrx )/s, 'a raw photo'],
  [/^....ftypM4[ABP] /s, 'a sound file'],
  [/^....ftyp/s, 'a video'],
  [/^v\/1\x01/, 'an OpenEXR picture'],
  [/^#\?RADIANCE/, 'a Radiance picture'],
  [/^PK\x03\x04/, 'a ZIP archive'],
];

const HEAD_BYTES = 512;

/**
 * Returns the name, with its article, of a format that no decoder here reads, or `null` if the first bytes do not
 * show it.
 */
export async function formatName(path: string): Promise<string | null> {
  const head = (await readHead(path, HEAD_BYTES)).toString('latin1');
  return OTHERS.find(([pattern]) => pattern.test(head))?.[1] ?? null;
}
