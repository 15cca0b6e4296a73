import { setImmediate } from 'node:timers/promises';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import type { Database } from './database.ts';
import { createFences } from './fences.ts';
import { createProxyQueries } from './proxy-queries.ts';
import { createProxyRemoval } from './proxy-removal.ts';
import { createSaver, RECORD } from './proxy-rows.ts';
import { drawIds } from './proxy-sample.ts';
import { pageQuery } from './proxy-sql.ts';
import { type CountRow, summarise } from './proxy-summary.ts';
import { createProxyVersion } from './proxy-version.ts';
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
  const setNextCheck = database.prepare<{ id: number }>(
    'UPDATE proxies SET next_check = ? WHERE id = ? RETURNING id',
  );
  const counts = database.prepare<CountRow>('SELECT * FROM proxy_counts WHERE count > 0');
  const saveOne = createSaver(database, { keepNewer: true });
  const checkFence = createFences(database, 'proxies');
  const version = createProxyVersion(database);
  const queries = createProxyQueries(database);
  const { select, count, load, simplified } = queries;
  const removal = { queries, version, checkFence, step: steps.removals };

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

    due: async (now, limit, status) => dueNow.all(status, now, limit),

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
