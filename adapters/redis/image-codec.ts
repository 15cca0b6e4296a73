import type { ImageRecord } from '../../src/image/image.ts';

/**
 * An image is stored as a JSON array of these fields and a mark of the request that wrote it; its last access is kept
 * apart. The scripts count on the places of the first ones (from 1): format, size, password hash.
 */
const FIELDS = [
  'format',
  'size',
  'passwordHash',
  'createdAt',
  'filename',
  'width',
  'height',
  'frames',
  'hash',
  'uploader',
  'deleteTokenHash',
] as const satisfies readonly (keyof ImageRecord)[];

/** `mark` tells a repetition of the same request from another image with the same id. */
export function encodeImage(image: ImageRecord, mark: string): string {
  return JSON.stringify([...FIELDS.map((field) => image[field]), mark]);
}

export function decodeImage(id: string, text: string, lastAccess: number): ImageRecord {
  const values = JSON.parse(text) as unknown[];
  const fields = FIELDS.map((field, index) => [field, values[index]]);
  return { id, ...Object.fromEntries(fields), lastAccess };
}

/** What the search needs to know of a stored image. */
export function decodeListed(text: string): Pick<ImageRecord, 'format' | 'createdAt' | 'filename'> {
  const values = JSON.parse(text) as unknown[];
  return { format: values[0], createdAt: values[3], filename: values[4] } as ImageRecord;
}
