import { IMAGE_FIELDS, type ImageFacts } from '../../src/image/fields.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { namesOf, reader } from '../../src/lib/fields.ts';

/**
 * An image is stored as a JSON array of its fields in their order. Before this place stand the fields of the first
 * version, at it a mark of the request that wrote the record, behind it the fields that came later.
 */
const MARK_PLACE = 11;

const FIELDS = namesOf(IMAGE_FIELDS);
const read = reader(IMAGE_FIELDS);

/** Lua for the field of a decoded image. */
export function imageField(name: keyof ImageFacts): string {
  const place = FIELDS.indexOf(name);
  return `image[${place < MARK_PLACE ? place + 1 : place + 2}]`;
}

/** `mark` tells a repetition of the same request from another image with the same id. */
export function encodeImage(image: ImageRecord, mark: string): string {
  const values: unknown[] = FIELDS.map((field) => image[field]);
  return JSON.stringify(values.toSpliced(MARK_PLACE, 0, mark));
}

export function decodeImage(id: string, text: string, lastAccess: number): ImageRecord {
  return { id, ...decodeFacts(text), lastAccess };
}

/** A stored image but for what is kept beside it. */
export function decodeFacts(text: string): ImageFacts {
  return read((JSON.parse(text) as unknown[]).toSpliced(MARK_PLACE, 1));
}
