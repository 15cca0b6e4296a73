import { setImmediate } from 'node:timers/promises';
import type { Fence } from '../../src/lib/locks.ts';
import { PROTOCOLS, type Protocol, type ProxyRecord, STATUSES, type Status } from '../../src/proxy/proxy.ts';
import { type CountryCount, MOST_WAIT_MS, type PoolSummary, type ProxyStore } from '../../src/proxy/store.ts';
import type { Database } from './database.ts';
import { createFences } from './fences.ts';
import { createProxyQueries, drawIds, type ProxyQueries } from './proxy-queries.ts';
import { createSaver, RECORD } from './proxy-rows.ts';
import { type Cursor, walkQuery } from './proxy-sql.ts';
import { createProxyWalks } from './proxy-walks.ts';

/** Rows read or removed before other work gets its turn, which takes a few milliseconds. */
const STEPS = { ids: 5000, records: 1000, endpoints: 500, lookups: 500, removals: 250 };

interface SqliteProxiesOptions {
  /** 0 <= random() < 1; for samples. */
  random?: () => number;
  /** Sizes of steps, so that tests can use few rows. */
  steps?: typeof STEPS;
}

/**
 * A `ProxyStore` over SQLite. Pages in the order of `dependable`, and counts by protocol, country and status, do not
 * depend on the size of the pool. Other counts and orders visit the matches in an index.
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
  const planned = database.prepare<ProxyRecord>(
    `SELECT ${RECORD} FROM proxies p WHERE status = ? AND next_check > ? ORDER BY next_check, id LIMIT ?`,
  );
  const setNextCheck = database.prepare<{ id: number }>(
    'UPDATE proxies SET next_check = ? WHERE id = ? RETURNING id',
  );
  const counts = database.prepare<CountRow>('SELECT * FROM proxy_counts WHERE count > 0');
  const saveOne = createSaver(database, { keepNewer: true });
  const checkFence = createFences(database, 'proxies');
  const version = createProxyVersion(database);
  const queries = createProxyQueries(database);
  const { count, ids, load, page, simplified } = queries;
  const removal = { queries, version, checkFence, step: steps.removals };

  return {
    async find({ filter: wanted, sort, offset, limit }) {
      return database.snapshot(() => {
        const filter = simplified(wanted);
        const total = count(filter);
        if (offset >= total || limit <= 0) return { items: [], total };
        return { items: load(page({ filter, sort, offset, limit }), {}), total };
      });
    },

    async sample(wanted, limit) {
      return database.snapshot(() => {
        const filter = simplified(wanted);
        const total = count(filter);
        return { items: load(drawIds(database, { ids, filter, total, limit, random }), {}), total };
      });
    },

    ...createProxyWalks(database, { queries, random, steps }),
    ...createProxyRemoval(database, removal),

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
        version.advance();
        return drafts.map(saveOne);
      });
      const saved = new Map(drafts.map((draft, index) => [ids[index], draft]));
      return drafts.map((draft, index) => ({ ...(saved.get(ids[index]) ?? draft), id: ids[index] ?? 0 }));
    },

    async reschedule(id, at, fence) {
      return database.transaction(() => {
        checkFence(fence);
        if (setNextCheck.all(at, id).length === 0) return false;
        version.advance();
        return true;
      });
    },

    async due(now, limit, status) {
      const early = planned.all(status, now + MOST_WAIT_MS[status], limit);
      return [...early, ...dueNow.all(status, now, limit - early.length)];
    },

    summary: async () => summarise(counts.all()),

    version() {
      try {
        return version.read();
      } catch (error) {
        return Promise.reject(error);
      }
    },
  };
}

interface ProxyRemovalOptions {
  queries: Pick<ProxyQueries, 'select' | 'count'>;
  version: Pick<ProxyVersion, 'advance'>;
  checkFence: (fence: Fence | undefined) => void;
  /** Rows removed before other work gets its turn. */
  step: number;
}

/** Removes what the pool does not keep, one transaction at a time. */
function createProxyRemoval(
  database: Database,
  { queries: { select, count }, version, checkFence, step }: ProxyRemovalOptions,
): Pick<ProxyStore, 'removeDead' | 'evict'> {
  const deadSince = database.prepare<{ id: number }>(
    `SELECT id FROM proxies INDEXED BY proxies_dead
     WHERE status = 'dead' AND ifnull(last_alive, first_seen) < ? LIMIT ?`,
  );
  const removeIds = database.prepare('DELETE FROM proxies WHERE id IN (SELECT value FROM json_each(?))');

  function worst(limit: number): number[] {
    const ids: number[] = [];
    for (const status of ['dead', 'alive'] as const) {
      const rows = select<Cursor>(walkQuery({ status }, limit - ids.length, null, { direction: 'DESC' }));
      ids.push(...rows.map(({ id }) => id));
    }
    return ids;
  }

  /** Removes what `next` returns until it returns nothing. */
  async function removeInSteps(next: (limit: number) => number[], fence: Fence | undefined): Promise<number> {
    for (let removed = 0; ; await setImmediate()) {
      const gone = database.transaction(() => {
        checkFence(fence);
        const ids = next(step);
        if (ids.length === 0) return 0;
        removeIds.run(JSON.stringify(ids));
        version.advance();
        return ids.length;
      });
      removed += gone;
      if (gone < step) return removed;
    }
  }

  return {
    removeDead: (before, fence) =>
      removeInSteps((limit) => deadSince.all(before, limit).map(({ id }) => id), fence),

    evict: (keep, fence) =>
      removeInSteps((limit) => worst(Math.max(0, Math.min(limit, count({}) - keep))), fence),
  };
}

/**
 * A row of `proxy_counts`: the number of proxies, how many have a response time, and the sum of these in
 * microseconds.
 */
interface CountRow {
  status: Status;
  protocol: Protocol;
  country: string;
  count: number;
  timed: number;
  total_us: number;
}

/** Computes the statistics of the whole pool from the counts of its groups. */
function summarise(rows: readonly CountRow[]): PoolSummary {
  const alive = rows.filter(({ status }) => status === 'alive');
  const timed = sum(alive, 'timed');
  const groups = PROTOCOLS.flatMap((protocol) => STATUSES.map((status) => ({ protocol, status })));
  return {
    alive: sum(alive, 'count'),
    total: sum(rows, 'count'),
    averageResponseMs: timed === 0 ? 0 : sum(alive, 'total_us') / timed / 1000,
    aliveCountries: byCountry(alive),
    countries: countries(rows),
    counts: groups
      .map(({ protocol, status }) => ({
        protocol,
        status,
        count: sum(
          rows.filter((row) => row.protocol === protocol && row.status === status),
          'count',
        ),
      }))
      .filter(({ count }) => count > 0),
  };
}

function sum(rows: readonly CountRow[], field: 'count' | 'timed' | 'total_us'): number {
  return rows.reduce((total, row) => total + row[field], 0);
}

function byCountry(rows: readonly CountRow[]): CountryCount[] {
  return [...Map.groupBy(rows, ({ country }) => country)]
    .map(([country, rows]) => ({ country, count: sum(rows, 'count') }))
    .sort((a, b) => b.count - a.count || a.country.localeCompare(b.country));
}

function countries(rows: readonly CountRow[]): string[] {
  return [...new Set(rows.map(({ country }) => country))].sort();
}

/** Maximum delay until a write of another process is noticed. */
const VERSION_MS = 20;

function createProxyVersion(database: Database) {
  const stored = database.prepare<{ value: number }>('SELECT value FROM proxy_version');
  const increment = database.prepare('UPDATE proxy_version SET value = value + 1');
  /** The cached version; `null` after a write of this process. */
  let known: string | null = null;

  return {
    /** Returns the version, cached for a moment because reading the file costs as much as the rest of a request. */
    read(): string {
      if (known === null) {
        known = String(stored.get()?.value ?? 0);
        setTimeout(() => {
          known = null;
        }, VERSION_MS);
      }
      return known;
    },
    /** Must be called in the transaction of a write. */
    advance(): void {
      known = null;
      increment.run();
    },
  };
}

/** The version of the pool, which every write advances. */
type ProxyVersion = ReturnType<typeof createProxyVersion>;
