import type { AuditStore, StagedEntry } from '../../src/audit/store.ts';
import type { PostgresConnection } from './connection.ts';

const RECORD = 'id, at, day, subject, stage, text';

/** An `AuditStore` in one table. */
export function createPostgresAudit({ table, ask }: PostgresConnection): AuditStore {
  const audit = table('audit');
  const select = (rest: string) => `SELECT ${RECORD} FROM ${audit} ${rest}`;
  const newest = 'ORDER BY at DESC, id DESC';

  return {
    async append({ id, at, day, subject, text }, stage) {
      const values = [id, at, day, subject, stage, text];
      await ask(
        'safe',
        `INSERT INTO ${audit} (${RECORD}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`,
        values,
      );
    },
    async advance(id, stage) {
      await ask('safe', `UPDATE ${audit} SET stage = least(stage, $2) WHERE id = $1`, [id, stage]);
    },
    list({ limit, after, subject }) {
      if (subject !== undefined)
        return ask<StagedEntry>('safe', select(`WHERE subject = $1 ${newest} LIMIT $2`), [subject, limit]);
      const place = `WHERE (at, id) < (SELECT at, id FROM ${audit} WHERE id = $2)`;
      return after === undefined
        ? ask<StagedEntry>('safe', select(`${newest} LIMIT $1`), [limit])
        : ask<StagedEntry>('safe', select(`${place} ${newest} LIMIT $1`), [limit, after]);
    },
    unfinished: (limit) =>
      ask<StagedEntry>('safe', select('WHERE stage > 0 ORDER BY stage DESC, at, id LIMIT $1'), [limit]),
    drop: async (day) =>
      (await ask('safe', `DELETE FROM ${audit} WHERE day < $1 AND stage = 0 RETURNING id`, [day])).length,
  };
}
