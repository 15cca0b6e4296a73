import type { AuditStore, StagedEntry } from '../../src/audit/store.ts';
import { breathe } from '../../src/lib/schedule.ts';
import { storable } from '../../src/lib/storable.ts';
import type { Database } from './database.ts';

/** Number of entries dropped in one transaction, which takes some milliseconds. */
const DROPPED = 1000;

/** An `AuditStore` over one table. */
export function createSqliteAudit(database: Database): AuditStore {
  const insert = database.prepare('INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING');
  const advance = database.prepare('UPDATE audit SET stage = min(stage, ?) WHERE id = ?');
  const latest = database.prepare<StagedEntry>(
    `SELECT * FROM audit WHERE ?1 IS NULL OR (at, id) < (SELECT at, id FROM audit WHERE id = ?1)
     ORDER BY at DESC, id DESC LIMIT ?2`,
  );
  const about = database.prepare<StagedEntry>(
    'SELECT * FROM audit WHERE subject = ? ORDER BY at DESC, id DESC LIMIT ?',
  );
  const open = database.prepare<StagedEntry>(
    'SELECT * FROM audit WHERE stage > 0 ORDER BY stage DESC, at, id LIMIT ?',
  );
  const drop = database.prepare<{ id: string }>(
    `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE day < ? AND stage = 0 LIMIT ${DROPPED}) RETURNING id`,
  );

  return {
    async append({ id, at, day, subject, text }, stage) {
      database.urgent(() => insert.run(id, at, day, storable(subject), stage, text));
      await database.onDisk();
    },
    async advance(id, stage) {
      database.urgent(() => advance.run(stage, id));
      await database.onDisk();
    },
    list: async ({ limit, after, subject }) =>
      subject === undefined ? latest.all(after ?? null, limit) : about.all(storable(subject), limit),
    unfinished: async (limit) => open.all(limit),
    async drop(day) {
      for (let dropped = 0; ; await breathe()) {
        const { length } = database.freeing(() => drop.all(day));
        dropped += length;
        if (length < DROPPED) return dropped;
      }
    },
  };
}
