import { batches } from '../../src/lib/batches.ts';
import type { ChangeLog } from '../../src/lib/follower.ts';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import type { Ask, PostgresConnection } from './connection.ts';
import { RECORD } from './proxy-rows.ts';

/** A proxy by ID; `null` if it was removed. */
export type Change = [id: number, record: ProxyRecord | null];

/** Records in one answer. */
const BATCH = 2000;
/** How long removals are remembered. */
const KEPT = `interval '10 minutes'`;

/** Versions whose marks are kept. To read more changes than that takes as long as to read the whole pool. */
const MARKS = 10_000;

interface Marked {
  version: number;
  /** Chosen at random when the version was written; `null` if a program without marks wrote it. */
  mark: number | null;
}

/**
 * The versions of the pool as a log: a record appears at its last change. A position is a version, or the version and
 * ID of the last record read of many, with the mark of the version. The mark shows whether the server still has the
 * history that was read: after a failover or a restored backup, other changes may have got the same versions.
 */
export function createProxyLog({ table, ask }: PostgresConnection): ChangeLog<Change> & {
  /** All records there are, in batches. */
  scan(): AsyncIterable<Change[]>;
} {
  const marks = table('proxy_marks');
  const head = `SELECT h.version, h.horizon, m.mark, (SELECT mark FROM ${marks} WHERE version = $1) AS known
    FROM ${table('proxy_head')} h LEFT JOIN ${marks} m ON m.version = h.version`;
  const changed = `SELECT ${RECORD}, p.version, m.mark FROM ${table('proxies')} p
    LEFT JOIN ${marks} m ON m.version = p.version
    WHERE (p.version, p.id) > ($1, $2) ORDER BY p.version, p.id LIMIT ${BATCH}`;
  const gone = `SELECT id FROM ${table('proxies_gone')} WHERE version > $1`;
  const all = `SELECT ${RECORD} FROM ${table('proxies')} p WHERE p.id > $1 ORDER BY p.id LIMIT ${BATCH}`;

  /** `known`: the mark of the version `from`. */
  const readHead = async (from: number) =>
    (await ask<Marked & { horizon: number; known: number | null }>('safe', head, [from]))[0] ?? {
      ...{ version: 0, horizon: 0, mark: null, known: null },
    };
  const placeOf = ({ version, mark }: Marked, id = '') => `${version}${id}${mark === null ? '' : `@${mark}`}`;

  return {
    end: async () => placeOf(await readHead(0)),

    async since(place) {
      const [position = '', mark] = place.split('@');
      const [from = 0, id = Number.MAX_SAFE_INTEGER] = position.split('.').map(Number);
      const now = await readHead(from);
      const { version, horizon, known } = now;
      // A lower version belongs to another pool, or to a restored one.
      if (from < horizon || from > version) return null;
      if (mark !== undefined && Number(mark) !== known) return null;
      if (position === String(version)) return { place, more: false, changes: [] };
      const removed = await ask<{ id: number }>('safe', gone, [from]);
      const records = await ask<ProxyRecord & Marked>('safe', changed, [from, id]);
      const changes: Change[] = removed.map((one) => [one.id, null]);
      for (const { version: _, mark: __, ...record } of records) changes.push([record.id, record]);
      const last = records.length === BATCH ? records.at(-1) : undefined;
      if (last && last.version <= version) {
        return { place: placeOf(last, `.${last.id}`), more: true, changes };
      }
      return { place: placeOf(now), more: false, changes };
    },

    async *scan() {
      const read = (last: ProxyRecord | undefined) => ask<ProxyRecord>('safe', all, [last?.id ?? 0]);
      for await (const records of batches(BATCH, read)) {
        yield records.map((record): Change => [record.id, record]);
      }
    },
  };
}

export function createProxyVersions({ table }: Pick<PostgresConnection, 'table'>) {
  const [head, gone, marks] = [table('proxy_head'), table('proxies_gone'), table('proxy_marks')];
  const advance = `WITH next AS (UPDATE ${head} SET version = version + 1 RETURNING version),
      forgotten AS (DELETE FROM ${marks} m USING next WHERE m.version <= next.version - ${MARKS})
    INSERT INTO ${marks} (version, mark) SELECT version, floor(random() * 9007199254740991)::bigint FROM next
    ON CONFLICT (version) DO UPDATE SET mark = excluded.mark RETURNING version`;
  const next = async (ask: Ask) => (await ask<{ version: number }>(advance))[0]?.version ?? 0;
  return {
    /** Takes the lock and the next version. */
    next,
    /** Takes the lock for changes of the pool until the end of the transaction. */
    async lock(ask: Ask): Promise<void> {
      await ask(`SELECT version FROM ${head} FOR UPDATE`);
    },
    /** Records that the proxies are removed, and forgets old removals. Needs the lock. */
    async bury(ask: Ask, ids: string): Promise<void> {
      const version = await next(ask);
      await ask(
        `INSERT INTO ${gone} (id, version) SELECT u.id, $1::bigint FROM unnest($2::bigint[]) AS u (id)`,
        [version, ids],
      );
      await ask(
        `WITH forgotten AS (DELETE FROM ${gone} WHERE at < now() - ${KEPT} RETURNING version)
         UPDATE ${head} SET horizon = greatest(horizon, (SELECT max(version) FROM forgotten))
         WHERE EXISTS (SELECT FROM forgotten)`,
      );
    },
  };
}

/** Serialises the writes of the pool. */
export type ProxyVersions = ReturnType<typeof createProxyVersions>;
