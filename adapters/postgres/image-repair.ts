import { type Finding, fail, warn } from '../../src/findings/finding.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { END_REMEMBERED_MS, type ImageStore } from '../../src/image/store.ts';
import { batches } from '../../src/lib/batches.ts';
import { arrayOf, type PostgresConnection } from './connection.ts';
import { type ImageRows, RECORD, VISIBILITY } from './image-rows.ts';
import { LISTED } from './schema.ts';

/** Rows in one statement. */
const BATCH = 1000;
/** Counting millions of rows takes seconds, and nobody waits for it. */
const LIMIT_MS = 5 * 60_000;

/** Finds and repairs inconsistencies of image records over Postgres. */
export function createImageRepair(
  { table, ask, transaction }: PostgresConnection,
  rows: ImageRows,
): Pick<ImageStore, 'buried' | 'dropTombstones' | 'faults' | 'knownFaults' | 'repair'> {
  const [images, texts, counts] = [table('images'), table('image_text'), table('image_counts')];
  const tombstones = table('tombstones');
  let found: Finding[] = [];

  async function searchIndexMisses(): Promise<void> {
    const missing = `SELECT ${RECORD} FROM ${images} i
      WHERE ${LISTED} AND i.id > $1 AND NOT EXISTS (SELECT FROM ${texts} t WHERE t.id = i.id)
      ORDER BY i.id LIMIT ${BATCH}`;
    const read = (last: ImageRecord | undefined) =>
      ask<ImageRecord>('safe', missing, [last?.id ?? ''], LIMIT_MS);
    for await (const found of batches(BATCH, read)) {
      const { text, values } = rows.index(found);
      await ask('safe', text, values);
    }
  }

  return {
    async buried(ids) {
      const text = `SELECT id FROM ${tombstones} WHERE id = ANY($1::text[])`;
      return new Set((await ask<{ id: string }>('safe', text, [arrayOf(ids)])).map(({ id }) => id));
    },

    async dropTombstones(ageMs) {
      const text = `DELETE FROM ${tombstones} WHERE id IN (
        SELECT id FROM ${tombstones}
        WHERE ended = $1 AND at <= now() - $2::double precision * interval '1 millisecond'
        LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) RETURNING id`;
      while ((await ask('safe', text, [false, ageMs])).length === BATCH);
      while ((await ask('safe', text, [true, END_REMEMBERED_MS])).length === BATCH);
    },

    async faults() {
      const [row] = await ask<{ records: number; listed: number; counted: number; searched: number }>(
        'safe',
        `SELECT (SELECT count(*) FROM ${images}) AS records,
           (SELECT count(*) FROM ${images} WHERE ${LISTED}) AS listed,
           (SELECT coalesce(sum(count), 0)::bigint FROM ${counts}) AS counted,
           (SELECT count(*) FROM ${texts}) AS searched`,
        [],
        LIMIT_MS,
      );
      const { records = 0, listed = 0, counted = 0, searched = 0 } = row ?? {};
      const faults: Finding[] = [];
      const expect = (name: string, known: number, right: number) => {
        if (known === right) return;
        // More than there are records: some were lost, and no index can restore them.
        faults.push((known < right ? warn : fail)(`The ${name} cover ${known} of ${right} images.`));
      };
      expect('counts', counted, records);
      expect('search texts', searched, listed);
      found = faults;
      return faults;
    },

    async knownFaults() {
      const [row] = await ask<{ some: boolean; counted: number }>(
        'safe',
        `SELECT EXISTS (SELECT FROM ${images}) AS some,
           (SELECT coalesce(sum(count), 0)::bigint FROM ${counts}) AS counted`,
      );
      const { some = false, counted = 0 } = row ?? {};
      if (some || counted <= 0) return found;
      return [fail(`The counts cover ${counted} of 0 images.`)];
    },

    async repair() {
      // Writers change images and counts together, so one statement sees the exact difference.
      await transaction(
        'never',
        async (ask) => {
          await ask(`SELECT version FROM ${table('schema_version')} FOR UPDATE`);
          await ask(
            `INSERT INTO ${counts} AS c (format, visibility, part, count, bytes)
             SELECT format, visibility, 0, sum(count), sum(bytes) FROM (
               SELECT format, ${VISIBILITY} AS visibility, count(*) AS count, sum(size) AS bytes
                 FROM ${images} GROUP BY 1, 2
               UNION ALL SELECT format, visibility, -sum(count), -sum(bytes) FROM ${counts} GROUP BY 1, 2
             ) d GROUP BY format, visibility
             ON CONFLICT (format, visibility, part)
               DO UPDATE SET count = c.count + excluded.count, bytes = c.bytes + excluded.bytes`,
          );
        },
        LIMIT_MS,
      );
      await ask(
        'safe',
        `DELETE FROM ${texts} t WHERE NOT EXISTS (SELECT FROM ${images} i WHERE i.id = t.id AND ${LISTED})`,
        [],
        LIMIT_MS,
      );
      await searchIndexMisses();
    },
  };
}
