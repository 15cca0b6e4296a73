import { IMAGE_FIELDS } from '../../src/image/fields.ts';
import { CHANGEABLE, type ImageRecord, visibilityOf } from '../../src/image/image.ts';
import { isSearchedAlike, searchedText } from '../../src/image/records/searched.ts';
import { columnOf, namesOf } from '../../src/lib/fields.ts';
import { arrayOf, type PostgresConnection, type Value } from './connection.ts';
import { gramsOf } from './image-grams.ts';
import { TYPES } from './schema.ts';

const FIELDS = ['id', ...namesOf(IMAGE_FIELDS), 'lastAccess', 'viewsLeft'] as const;

/** Columns of `i` that make a row an `ImageRecord`. */
export const RECORD = FIELDS.map((field) => `i.${columnOf(field)} AS "${field}"`).join(', ');

/** SQL for the visibility of an image. */
export const VISIBILITY = `CASE WHEN password_hash IS NOT NULL THEN 'protected' WHEN unlisted = 1 THEN 'unlisted' ELSE 'public' END`;

/** A query for the number of public images, as `total`; `counts`: the table of counts. */
export const publicTotal = (counts: string) =>
  `SELECT coalesce(sum(count), 0)::bigint AS total FROM ${counts} WHERE visibility = 'public'`;

/** Number of rows that each count is spread over, so that writers rarely wait for each other. */
const PARTS = 16;

/**
 * Returns the condition that a row comes later in the list than a position; its values are `$first` and the next one.
 */
export function behind(first: number): string {
  return `created_at <= $${first} AND (created_at < $${first} OR id > $${first + 1})`;
}

interface Statement {
  text: string;
  values: Value[];
}

export function createImageRows({ table }: Pick<PostgresConnection, 'table'>) {
  const [images, texts, counts] = [table('images'), table('image_text'), table('image_counts')];
  const [tombstones, views] = [table('tombstones'), table('image_views')];
  const columns = FIELDS.map(columnOf).join(', ');
  const kindOf = (field: (typeof FIELDS)[number]) => {
    if (field === 'id') return 'text';
    return field === 'lastAccess' || field === 'viewsLeft' ? 'integer' : IMAGE_FIELDS[field].kind;
  };
  const values = FIELDS.map((field, place) => `$${place + 1}::${TYPES[kindOf(field)]}`);
  const own = (place: number) => `$${FIELDS.length + place}`;
  const add = `ON CONFLICT (format, visibility, part)
    DO UPDATE SET count = c.count + excluded.count, bytes = c.bytes + excluded.bytes`;
  const count = `INSERT INTO ${counts} AS c (format, visibility, part, count, bytes)`;
  const insert = `WITH added AS (
      INSERT INTO ${images} (${columns}, ends_at, mark) VALUES (${values.join(', ')}, ${own(1)}::bigint, ${own(2)}::text)
      ON CONFLICT (id) DO NOTHING RETURNING id, created_at, format, size, ${VISIBILITY} AS visibility
    ), searched AS (
      INSERT INTO ${texts} (id, created_at, text, grams)
      SELECT id, created_at, ${own(4)}::text, ${own(5)}::integer[] FROM added WHERE visibility = 'public'
    ), counted AS (${count} SELECT format, visibility, ${own(3)}::integer, 1, size FROM added ${add}),
    unburied AS (DELETE FROM ${tombstones} WHERE id IN (SELECT id FROM added))
    SELECT id FROM added`;
  const index = `INSERT INTO ${texts} (id, created_at, text, grams)
    SELECT u.id, u.created_at, u.text, u.grams::integer[]
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) AS u (id, created_at, text, grams)
    JOIN ${images} i ON i.id = u.id AND ${VISIBILITY} = 'public' ON CONFLICT (id) DO NOTHING`;
  // While the last view is in progress, its expiry applies unless the new one is earlier.
  const change = `UPDATE ${images} SET ${CHANGEABLE.map((field, place) => `${columnOf(field)} = $${place + 3}`).join(', ')},
      ends_at = CASE WHEN views_left = 0 THEN least(ends_at, $2::bigint) ELSE $2::bigint END
    WHERE id = $1`;

  function indexOf(images: readonly ImageRecord[]): Statement {
    const texts = images.map(searchedText);
    const columns = [
      images.map(({ id }) => id),
      images.map(({ createdAt }) => createdAt),
      texts,
      texts.map((text) => arrayOf(gramsOf(text))),
    ];
    return { text: index, values: columns.map(arrayOf) };
  }

  return {
    /** Returns a row if the image did not exist. */
    insert(image: ImageRecord, mark: string, part: number): Statement {
      const text = visibilityOf(image) === 'public' ? searchedText(image) : '';
      const facts = FIELDS.map((field) => image[field]);
      const more = [image.expiresAt, mark, part % PARTS, text, arrayOf(gramsOf(text))];
      return { text: insert, values: [...facts, ...more] };
    },

    /**
     * Deletes the rows of `images` that match `condition`, leaves tombstones, and returns the IDs. `ended`: the image
     * expired or was used up.
     */
    remove: (condition: string, ended: boolean) => `WITH gone AS (
        DELETE FROM ${images} WHERE ${condition} RETURNING id, format, size, ${VISIBILITY} AS visibility
      ), searched AS (DELETE FROM ${texts} WHERE id IN (SELECT id FROM gone)),
      viewed AS (DELETE FROM ${views} WHERE id IN (SELECT id FROM gone)),
      counted AS (
        ${count} SELECT format, visibility, 0, -count(*), -sum(size) FROM gone
        GROUP BY format, visibility ORDER BY format, visibility ${add}
      ), buried AS (
        INSERT INTO ${tombstones} (id, ended) SELECT id, ${ended} FROM gone
        ON CONFLICT (id) DO UPDATE SET at = excluded.at, ended = excluded.ended
      )
      SELECT id FROM gone`,

    /** Updates an image whose row is locked and looked like `before`. */
    change(before: ImageRecord, image: ImageRecord): Statement[] {
      const { id, expiresAt, format, size } = image;
      const [from, to] = [visibilityOf(before), visibilityOf(image)];
      const statements: Statement[] = [
        { text: change, values: [id, expiresAt, ...CHANGEABLE.map((field) => image[field])] },
      ];
      if (from !== to) {
        // All lock the counts in one order: two changes in opposite directions would wait for each other.
        const text = `${count}
          SELECT $1::text, u.visibility, 0, u.more, u.more * $2::bigint
          FROM (VALUES ($3::text, -1), ($4::text, 1)) AS u (visibility, more) ORDER BY u.visibility ${add}`;
        statements.push({ text, values: [format, size, from, to] });
      }
      if (from !== to || !isSearchedAlike(before, image)) {
        statements.push({ text: `DELETE FROM ${texts} WHERE id = $1`, values: [id] });
        if (to === 'public') statements.push(indexOf([image]));
      }
      return statements;
    },

    /** Adds images to the search index. */
    index: indexOf,
  };
}

/** Statements that change images together with their counts and search index. */
export type ImageRows = ReturnType<typeof createImageRows>;
