import { slices } from '../../src/lib/batches.ts';
import { createFollower } from '../../src/lib/follower.ts';
import type { Fence } from '../../src/lib/locks.ts';
import { endpointKey, requireWhole } from '../../src/proxy/fields.ts';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import { MOST_WAIT_MS, type ProxyStore } from '../../src/proxy/store.ts';
import { type ProxyReplica, readsOf } from '../replicas.ts';
import { unavailable } from '../server-errors.ts';
import { type Ask, arrayOf, type PostgresConnection, type Value } from './connection.ts';
import { createFences } from './locks.ts';
import { type Change, createProxyLog, createProxyVersions, type ProxyVersions } from './proxy-log.ts';
import { createProxyRows, RECORD } from './proxy-rows.ts';

/** Records in one statement, which take some milliseconds on the server. */
const BATCH = 1000;
/** Finding what to remove takes a second for millions of proxies. */
const LIMIT_MS = 60_000;

/**
 * A `ProxyStore` over Postgres. The server holds the records. Lists, samples, exports and statistics are answered by
 * a replica in the process, which checks for newer versions when it is queried: it is less than a second old, and
 * keeps its last state while the server is unavailable. Everything else is exact. `lagMs`: of the replica.
 */
export function createPostgresProxies(
  connection: PostgresConnection,
  openReplica: () => Promise<ProxyReplica>,
  { batch = BATCH }: { batch?: number } = {},
): ProxyStore & { lagMs(): number } {
  const { table, ask, transaction } = connection;
  const proxies = table('proxies');
  const log = createProxyLog(connection);
  const versions = createProxyVersions(connection);
  const rows = createProxyRows(connection);
  const checkFence = createFences(connection, 'proxies');

  const follower = createFollower<ProxyReplica, Change>({
    log,
    late: unavailable,
    open: openReplica,
    close: (replica) => replica.close(),
    scan: () => log.scan(),
    complete: (replica) => replica.complete(),
    apply(replica, changes) {
      const records = changes.flatMap(([, record]) => record ?? []);
      const removed = changes.flatMap(([id, record]) => (record === null ? id : []));
      replica.apply(records, removed);
    },
  });
  const recent = async () => (await follower.recent()).view;

  return {
    lagMs: follower.lagMs,

    ...readsOf(recent),

    get: async (id) =>
      (await ask<ProxyRecord>('safe', `SELECT ${RECORD} FROM ${proxies} p WHERE id = $1`, [id]))[0] ?? null,

    async lookup(endpoints) {
      if (endpoints.length === 0) return [];
      return [...(await rows.lookup((text, values) => ask('safe', text, values), endpoints)).values()];
    },

    async save(drafts, fence) {
      if (drafts.length === 0) return [];
      drafts.forEach(requireWhole);
      const latest = new Map(drafts.map((draft) => [endpointKey(draft), draft]));
      const ids = await transaction('safe', async (ask) => {
        await checkFence(ask, fence);
        const version = await versions.next(ask);
        const known = await rows.lookup(ask, [...latest.values()]);
        const missing = [...latest].flatMap(([key, draft]) => (known.has(key) ? [] : draft));
        const there = [...known].map(([key, record]) => ({ ...record, ...latest.get(key) }));
        await rows.replace(ask, there, version);
        const added = await rows.insert(ask, missing, version);
        return new Map([...there.map((record) => [endpointKey(record), record.id] as const), ...added]);
      });
      await follower.catchUp();
      return drafts.map((draft) => {
        const key = endpointKey(draft);
        return { ...(latest.get(key) ?? draft), id: ids.get(key) ?? 0 };
      });
    },

    async reschedule(id, at, fence) {
      if (!Number.isSafeInteger(at)) throw new TypeError(`a check cannot be due at ${at}`);
      const found = await transaction('safe', async (ask) => {
        await checkFence(ask, fence);
        await versions.lock(ask);
        const moved = await ask(
          `WITH head AS (SELECT version + 1 AS version FROM ${table('proxy_head')})
           UPDATE ${proxies} p SET next_check = $2, version = head.version FROM head WHERE p.id = $1 RETURNING p.id`,
          [id, at],
        );
        if (moved.length > 0) await versions.next(ask);
        return moved.length > 0;
      });
      if (found) await follower.catchUp();
      return found;
    },

    due: (now, limit, status) =>
      ask<ProxyRecord>(
        'safe',
        // Two ranges of the index. Those planned for an impossible time come first.
        `SELECT ${RECORD} FROM (
           (SELECT * FROM ${proxies} WHERE status = $1 AND next_check <= $2 ORDER BY next_check, id LIMIT $3)
           UNION ALL
           (SELECT * FROM ${proxies} WHERE status = $1 AND next_check > $4 ORDER BY next_check, id LIMIT $3)
         ) p ORDER BY next_check <= $2, next_check, id LIMIT $3`,
        [status, now, limit, now + MOST_WAIT_MS[status]],
      ),

    ...createProxyRemoval(connection, { versions, checkFence, batch, catchUp: follower.catchUp }),

    version: async () => (await follower.recent()).place,
  };
}

interface ProxyRemovalOptions {
  versions: Pick<ProxyVersions, 'lock' | 'bury'>;
  checkFence: (ask: Ask, fence: Fence | undefined) => Promise<void>;
  /** Number of records that one transaction removes. */
  batch: number;
  /** Applies the removals to the replica. */
  catchUp: () => Promise<void>;
}

/** Removes what the pool does not keep, one transaction at a time. */
function createProxyRemoval(
  { table, ask, transaction }: PostgresConnection,
  { versions, checkFence, batch, catchUp }: ProxyRemovalOptions,
): Pick<ProxyStore, 'removeDead' | 'evict'> {
  const proxies = table('proxies');

  /** Removes those of the proxies that still meet the condition, a batch in each transaction. `$1` are the IDs. */
  async function remove(
    ids: readonly { id: number }[],
    condition: string,
    values: readonly Value[],
    fence: Fence | undefined,
  ): Promise<number> {
    const text = `DELETE FROM ${proxies} WHERE id = ANY($1::bigint[]) AND ${condition} RETURNING id`;
    let removed = 0;
    for (const some of slices(ids, batch)) {
      removed += await transaction('never', async (ask) => {
        await checkFence(ask, fence);
        await versions.lock(ask);
        const gone = await ask<{ id: number }>(text, [arrayOf(some.map(({ id }) => id)), ...values]);
        if (gone.length > 0) await versions.bury(ask, arrayOf(gone.map(({ id }) => id)));
        return gone.length;
      });
    }
    if (removed > 0) await catchUp();
    return removed;
  }

  /** Reads the whole table, once and without the lock: for each batch that would hold up all writes. */
  const find = (text: string, value: number) =>
    ask<{ id: number }>('safe', `SELECT id FROM ${proxies} ${text}`, [value], LIMIT_MS);
  const isGone = (place: string) => `status = 'dead' AND coalesce(last_alive, first_seen) < ${place}`;

  return {
    async removeDead(before, fence) {
      return remove(await find(`WHERE ${isGone('$1')}`, before), isGone('$2'), [before], fence);
    },

    // Worst first: dead proxies, then the last ones of the list.
    async evict(keep, fence) {
      const worst = `ORDER BY status = 'alive', uptime, response_ms DESC NULLS FIRST, id DESC
        LIMIT greatest(0, (SELECT count(*) FROM ${proxies}) - $1::bigint)`;
      const [seen] = await ask<{ version: number | null }>(
        'safe',
        `SELECT max(version) AS version FROM ${proxies}`,
        [],
      );
      // What is checked meanwhile may be among the best now.
      return remove(await find(worst, keep), 'version <= $2', [seen?.version ?? 0], fence);
    },
  };
}
