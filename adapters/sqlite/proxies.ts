import { setImmediate } from 'node:timers/promises';
import type { Fence } from '../../src/lib/locks.ts';
import type { Endpoint, ProxyFilter, ProxyRecord, Sort } from '../../src/proxy/proxy.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import type { SqliteValue } from '../../src/runtime/runtime.ts';
import type { Database } from './database.ts';
import { createFences } from './fences.ts';
import { createIdSet } from './id-set.ts';
import { createSaver, RECORD } from './proxy-rows.ts';
import { drawIds } from './proxy-sample.ts';
import { type Cursor, countQuery, pageQuery, type Sql, walkQuery, where } from './proxy-sql.ts';
import { type CountRow, summarise } from './proxy-summary.ts';

/** Rows that are read or removed before other work gets its turn: a few milliseconds. */
const STEPS = { ids: 5000, records: 1000, endpoints: 500, lookups: 500, removals: 250 };

/** How long it may take until the write of another process is noticed. */
const VERSION_MS = 20;

export interface SqliteProxiesOptions {
  /** 0 <= random() < 1; for samples. */
  random?: () => number;
  /** Sizes of steps, so that tests can do with few rows. */
  steps?: typeof STEPS;
}

/**
 * `ProxyStore` over SQLite. Pages in the order of `dependable` and counts by protocol, country and status do not
 * depend on the size of the pool; other counts and orders visit the matches in an index.
 */
export function createSqliteProxies(
  database: Database,
  { random = Math.random, steps = STEPS }: SqliteProxiesOptions = {},
): ProxyStore {
  const byId = database.prepare<ProxyRecord>(`SELECT ${RECORD} FROM proxies p WHERE id = ?`);
  const byEndpoint = database.prepare<ProxyRecord>(
    `SELECT ${RECORD} FROM proxies p WHERE ip = ? AND port = ? AND protocol = ?`,
  );
  const dueNow = database.prepare<ProxyRecord>(
    `SELECT ${RECORD} FROM proxies p WHERE status = ? AND next_check <= ? ORDER BY next_check, id LIMIT ?`,
  );
  const setNextCheck = database.prepare<{ id: number }>(
    'UPDATE proxies SET next_check = ? WHERE id = ? RETURNING id',
  );
  const deadSince = database.prepare<{ id: number }>(
    `SELECT id FROM proxies INDEXED BY proxies_dead
     WHERE status = 'dead' AND ifnull(last_alive, first_seen) < ? LIMIT ?`,
  );
  const removeIds = database.prepare('DELETE FROM proxies WHERE id IN (SELECT value FROM json_each(?))');
  const anyLogin = database.prepare<{ id: number }>('SELECT id FROM proxies WHERE login IS NOT NULL LIMIT 1');
  const counts = database.prepare<CountRow>('SELECT * FROM proxy_counts WHERE count > 0');
  const storedVersion = database.prepare<{ value: number }>('SELECT value FROM proxy_version');
  const incrementVersion = database.prepare('UPDATE proxy_version SET value = value + 1');
  /** The version as it was read a moment ago; `null` after an own write. */
  let knownVersion: string | null = null;
  const saveOne = createSaver(database, { keepNewer: true });
  const checkFence = createFences(database, 'proxies');

  /** Leaves out a condition that every record of a pool without logins meets: it could not be counted without a walk. */
  function simplified(filter: ProxyFilter): ProxyFilter {
    if (filter.login !== false || anyLogin.get() !== null) return filter;
    const { login: _, ...rest } = filter;
    return rest;
  }

  function select<Row>({ text, values }: Sql): Row[] {
    return database.prepare<Row>(text).all(...values);
  }

  function count(filter: ProxyFilter): number {
    return select<{ total: number }>(countQuery(filter))[0]?.total ?? 0;
  }

  /** The records of the ids, in batches, as far as they still match when it is their turn. */
  async function* loadInSteps(ids: readonly number[], filter: ProxyFilter, size: number) {
    for (let first = 0; first < ids.length; first += size) {
      if (first > 0) await setImmediate();
      const records = load(ids.slice(first, first + size), filter);
      if (records.length > 0) yield records;
    }
  }

  /** Every matching id in an order that no index has. */
  function sortedIds(filter: ProxyFilter, order: Sort | 'random'): number[] {
    if (order === 'random') return drawIds(database, { filter, total: count(filter), random });
    return select<{ id: number }>(pageQuery(filter, order, -1, 0)).map(({ id }) => id);
  }

  /** The records of the ids, in their order, as far as they exist and match. */
  function load(ids: readonly number[], filter: ProxyFilter): ProxyRecord[] {
    const { text, values } = where(filter);
    const rows: SqliteValue[] = [JSON.stringify(ids), ...values];
    return select({
      // json_each has an id, too.
      text: `SELECT ${RECORD} FROM (SELECT key, value FROM json_each(?)) AS wanted CROSS JOIN proxies p ON p.id = wanted.value
        WHERE ${text} ORDER BY wanted.key`,
      values: rows,
    });
  }

  function bumpVersion(): void {
    knownVersion = null;
    incrementVersion.run();
  }

  /** A read of the file costs as much as all else in the answer to a request, so that it serves for a moment. */
  function readVersion(): string {
    if (knownVersion === null) {
      knownVersion = String(storedVersion.get()?.value ?? 0);
      setTimeout(() => {
        knownVersion = null;
      }, VERSION_MS);
    }
    return knownVersion;
  }

  /** Every matching id, most dependable first, gathered in short steps. A row that moves meanwhile counts once. */
  async function gather(filter: ProxyFilter): Promise<Set<number>> {
    const ids = new Set<number>();
    let cursor: Cursor | null = null;
    for (;;) {
      const step: Cursor[] = select(walkQuery(filter, steps.ids, cursor));
      for (const { id } of step) ids.add(id);
      cursor = step.at(-1) ?? null;
      if (step.length < steps.ids) return ids;
      await setImmediate();
    }
  }

  function worst(limit: number): number[] {
    const ids: number[] = [];
    for (const status of ['dead', 'alive'] as const) {
      const rows = select<Cursor>(walkQuery({ status }, limit - ids.length, null, { direction: 'DESC' }));
      ids.push(...rows.map(({ id }) => id));
    }
    return ids;
  }

  /** Removes what `next` names, one transaction at a time, until it names nothing. */
  async function removeInSteps(next: (limit: number) => number[], fence: Fence | undefined): Promise<number> {
    for (let removed = 0; ; await setImmediate()) {
      const step = database.transaction(() => {
        checkFence(fence);
        const ids = next(steps.removals);
        if (ids.length === 0) return 0;
        removeIds.run(JSON.stringify(ids));
        bumpVersion();
        return ids.length;
      });
      removed += step;
      if (step < steps.removals) return removed;
    }
  }

  return {
    async find({ filter: wanted, sort, offset, limit }) {
      return database.snapshot(() => {
        const filter = simplified(wanted);
        const total = count(filter);
        if (offset >= total || limit <= 0) return { items: [], total };
        const page = select<{ id: number }>(pageQuery(filter, sort, limit, offset));
        const ids = page.map(({ id }) => id);
        return { items: load(ids, {}), total };
      });
    },

    async sample(wanted, limit) {
      return database.snapshot(() => {
        const filter = simplified(wanted);
        const total = count(filter);
        const ids = drawIds(database, { filter, total, limit, random });
        return { items: load(ids, {}), total };
      });
    },

    async *stream(filter) {
      yield* loadInSteps([...(await gather(filter))], filter, steps.records);
    },

    async *endpoints(wanted, order = 'dependable') {
      const filter = simplified(wanted);
      if (order !== 'dependable') {
        yield* loadInSteps(sortedIds(filter, order), filter, steps.endpoints);
        return;
      }
      const columns = ', protocol, ip, port';
      const seen = createIdSet();
      let cursor: Cursor | null = null;
      const reader = await database.openReader();
      try {
        for (;;) {
          const { text, values } = walkQuery(filter, steps.endpoints, cursor, { columns });
          const step: (Cursor & Endpoint)[] = reader.prepare<Cursor & Endpoint>(text).all(...values);
          cursor = step.at(-1) ?? null;
          // A row that moved down the order since it was seen comes by again.
          const fresh = step.filter(({ id }) => seen.add(id));
          if (fresh.length > 0) yield fresh;
          if (step.length < steps.endpoints) return;
          await setImmediate();
        }
      } finally {
        reader.close();
      }
    },

    get: async (id) => byId.get(id),

    async lookup(endpoints) {
      const found = new Map<number, ProxyRecord>();
      for (const [index, { ip, port, protocol }] of endpoints.entries()) {
        if (index > 0 && index % steps.lookups === 0) await setImmediate();
        const record = byEndpoint.get(ip, port, protocol);
        if (record) found.set(record.id, record);
      }
      return [...found.values()];
    },

    async save(drafts, fence) {
      if (drafts.length === 0) return [];
      const ids = database.transaction(() => {
        checkFence(fence);
        bumpVersion();
        return drafts.map(saveOne);
      });
      const saved = new Map(drafts.map((draft, index) => [ids[index], draft]));
      return drafts.map((draft, index) => ({ ...(saved.get(ids[index]) ?? draft), id: ids[index] ?? 0 }));
    },

    async reschedule(id, at, fence) {
      return database.transaction(() => {
        checkFence(fence);
        if (setNextCheck.all(at, id).length === 0) return false;
        bumpVersion();
        return true;
      });
    },

    due: async (now, limit, status) => dueNow.all(status, now, limit),

    removeDead: (before, fence) =>
      removeInSteps((limit) => deadSince.all(before, limit).map(({ id }) => id), fence),

    evict: (keep, fence) =>
      removeInSteps((limit) => worst(Math.max(0, Math.min(limit, count({}) - keep))), fence),

    summary: async () => summarise(counts.all()),

    version() {
      try {
        return readVersion();
      } catch (error) {
        return Promise.reject(error);
      }
    },
  };
}
