import type { ImageStore, StoreFault } from '../../src/image/store.ts';
import type { Database } from './database.ts';
import { VISIBILITY } from './schema.ts';

/**
 * Finds and repairs inconsistencies of image records over SQLite. `dropOldEnds`: forgets images that ended long ago.
 */
export function createImageCare(
  database: Database,
  dropOldEnds: () => void,
): Pick<ImageStore, 'buried' | 'dropTombstones' | 'faults' | 'knownFaults' | 'repair'> {
  const agreement = database.prepare<{ records: number; counted: number }>(
    `SELECT (SELECT count(*) FROM images) AS records,
       (SELECT ifnull(sum(count), 0) FROM image_counts) AS counted`,
  );
  const recount = [
    'DELETE FROM image_counts',
    `INSERT INTO image_counts
       SELECT format, ${VISIBILITY('images')}, count(*), sum(size) FROM images GROUP BY 1, 2`,
  ].map((sql) => database.prepare(sql));
  const buried = database.prepare<{ id: string }>(
    `SELECT value AS id FROM json_each(?)
     WHERE value IN (SELECT id FROM tombstones) OR value IN (SELECT id FROM image_ends)`,
  );
  const dropTombstones = database.prepare(
    `DELETE FROM tombstones WHERE at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?`,
  );

  const faults = async (): Promise<StoreFault[]> => {
    const gone = database.fileFault();
    if (gone !== null) return [{ message: gone, mendable: false }];
    const { records, counted } = agreement.get() ?? { records: 0, counted: 0 };
    if (records === counted) return [];
    return [{ message: `The counts cover ${counted} of ${records} images.`, mendable: counted < records }];
  };

  return {
    buried: async (ids) => new Set(buried.all(JSON.stringify(ids)).map(({ id }) => id)),

    async dropTombstones(ageMs) {
      dropTombstones.run(ageMs);
      dropOldEnds();
    },

    faults,
    // Counting millions takes milliseconds.
    knownFaults: faults,

    async repair() {
      database.transaction(() => {
        for (const step of recount) step.run();
      });
    },
  };
}
