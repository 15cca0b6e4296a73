import { IMAGE_FIELDS } from '../../src/image/fields.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { searchedText } from '../../src/image/searched.ts';
import type { Place } from '../../src/image/store.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import { arrayOf } from './arrays.ts';
import type { PostgresConnection, Value } from './connection.ts';
import { gramsOf } from './image-grams.ts';
import { TYPES } from './schema.ts';

const FIELDS = ['id', ...namesOf(IMAGE_FIELDS), 'lastAccess'] as const;

/** What to select of `i` so that a row is an `ImageRecord`. */
export const RECORD = FIELDS.map((field) => `i.${columnOf(field)} AS "${field}"`).join(', ');

/** Which images are in lists and searches, as the partial index says it. */
export const LISTED = 'password_hash IS NULL';
export const isListed = ({ passwordHash }: Pick<ImageRecord, 'passwordHash'>) => passwordHash === null;

/** Parts that each count is spread over, so that few writers meet at one row. */
const PARTS = 16;

/** The condition that a row comes later in the list than a place; its values are `$first` and the next one. */
export function behind(first: number): string {
  return `created_at <= $${first} AND (created_at < $${first} OR id > $${first + 1})`;
}

export const placeOf = ({ createdAt, id }: Place): Place => ({ createdAt, id });

/** Statements that change images together with what is counted and searched of them. */
export interface ImageRows {
  /** Answers a row where the image was not there. */
  insert(image: ImageRecord, mark: string, part: number): { text: string; values: Value[] };
  /** Deletes what `condition` names of `images`; answers the ids. */
  remove(condition: string): string;
  /** Inserts what is searched of images. */
  index(images: readonly ImageRecord[]): { text: string; values: Value[] };
}

export function createImageRows({ table }: Pick<PostgresConnection, 'table'>): ImageRows {
  const [images, texts, counts] = [table('images'), table('image_text'), table('image_counts')];
  const tombstones = table('tombstones');
  const columns = FIELDS.map(columnOf).join(', ');
  const values = FIELDS.map((field, place) => {
    const kind = field === 'id' ? 'text' : field === 'lastAccess' ? 'integer' : IMAGE_FIELDS[field].kind;
    return `$${place + 1}::${TYPES[kind]}`;
  });
  const own = (place: number) => `$${FIELDS.length + place}`;
  const add = `ON CONFLICT (format, protected, part)
    DO UPDATE SET count = c.count + excluded.count, bytes = c.bytes + excluded.bytes`;
  const insert = `WITH added AS (
      INSERT INTO ${images} (${columns}, mark) VALUES (${values.join(', ')}, ${own(1)}::text)
      ON CONFLICT (id) DO NOTHING RETURNING id, created_at, format, size, ${LISTED} AS listed
    ), searched AS (
      INSERT INTO ${texts} (id, created_at, text, grams)
      SELECT id, created_at, ${own(3)}::text, ${own(4)}::integer[] FROM added WHERE listed
    ), counted AS (
      INSERT INTO ${counts} AS c (format, protected, part, count, bytes)
      SELECT format, NOT listed, ${own(2)}::integer, 1, size FROM added ${add}
    ), unburied AS (DELETE FROM ${tombstones} WHERE id IN (SELECT id FROM added))
    SELECT id FROM added`;
  const index = `INSERT INTO ${texts} (id, created_at, text, grams)
    SELECT u.id, u.created_at, u.text, u.grams::integer[]
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) AS u (id, created_at, text, grams)
    JOIN ${images} i ON i.id = u.id AND i.${LISTED} ON CONFLICT (id) DO NOTHING`;

  return {
    insert(image, mark, part) {
      const text = isListed(image) ? searchedText(image) : '';
      const facts = FIELDS.map((field) => image[field]);
      return { text: insert, values: [...facts, mark, part % PARTS, text, arrayOf(gramsOf(text))] };
    },

    remove: (condition) => `WITH gone AS (
        DELETE FROM ${images} WHERE ${condition} RETURNING id, format, size, ${LISTED} AS listed
      ), searched AS (DELETE FROM ${texts} WHERE id IN (SELECT id FROM gone)),
      counted AS (
        INSERT INTO ${counts} AS c (format, protected, part, count, bytes)
        SELECT format, NOT listed, 0, -count(*), -sum(size) FROM gone GROUP BY format, listed ${add}
      ), buried AS (
        INSERT INTO ${tombstones} (id) SELECT id FROM gone ON CONFLICT (id) DO UPDATE SET at = excluded.at
      )
      SELECT id FROM gone`,

    index(images) {
      const texts = images.map(searchedText);
      const columns = [
        images.map(({ id }) => id),
        images.map(({ createdAt }) => createdAt),
        texts,
        texts.map((text) => arrayOf(gramsOf(text))),
      ];
      return { text: index, values: columns.map(arrayOf) };
    },
  };
}
