import { FORMATS } from '../../src/codec/format.ts';
import { IMAGE_FIELDS, type ImageFacts } from '../../src/image/fields.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { accepts, namesOf, reader } from '../../src/lib/fields.ts';
import { decoder, parseRecord } from './schema.ts';

/**
 * An image is stored as a JSON array of its fields in order. Before this index are the fields of the first version,
 * at it is a mark of the request that wrote the record, and after it are newer fields.
 */
const MARK_PLACE = 11;

/** Version number in front of the array of an image that is not visible to everyone forever. */
const LIMITED = '2';

/** Lua: `decode(text)` returns the array of an image, or nil if it is invalid. */
export const DECODE = decoder(LIMITED);

const FIELDS = namesOf(IMAGE_FIELDS);
const read = reader(IMAGE_FIELDS);

/** Returns Lua for the field of a decoded image. */
export function imageField(name: keyof ImageFacts): string {
  const place = FIELDS.indexOf(name);
  return `image[${place < MARK_PLACE ? place + 1 : place + 2}]`;
}

/** `mark` distinguishes a repetition of the same request from another image with the same ID. */
export function encodeImage(image: ImageRecord, mark: string): string {
  const { unlisted, expiresAt, maxViews } = image;
  const values: unknown[] = FIELDS.map((field) => image[field]);
  const shape = unlisted === 1 || expiresAt !== null || maxViews !== null ? LIMITED : '';
  return shape + JSON.stringify(values.toSpliced(MARK_PLACE, 0, mark));
}

/** `viewsLeft` is ignored if the views are not limited. */
export function decodeImage(id: string, text: string, lastAccess: number, viewsLeft: number): ImageRecord {
  const facts = decodeFacts(text);
  return { id, ...facts, lastAccess, viewsLeft: facts.maxViews === null ? null : viewsLeft };
}

/**
 * Parses a stored image, without what is kept beside it.
 * @throws {TypeError} if this program cannot read it.
 */
export function decodeFacts(text: string): ImageFacts {
  const facts = read(parseRecord(text, LIMITED).toSpliced(MARK_PLACE, 1));
  const wrong = FIELDS.find((field) => !accepts(IMAGE_FIELDS[field], facts[field]));
  if (wrong) throw new TypeError(`${wrong} of an image cannot be ${facts[wrong]}`);
  if (!FORMATS.includes(facts.format)) throw new TypeError(`the format ${facts.format} is not known`);
  return facts;
}
