import { AppError, inEnglish } from '../../errors.ts';
import { PROTOCOLS, type ProxyFilter, type ProxyRecord, type Sort, STATUSES } from '../proxy.ts';
import type { PoolSummary, ProxyQuery, ProxyStore } from '../store.ts';
import { createExitFilter, type ExportQuery, exportProxies } from './export.ts';
import type { PoolHistory, PoolSample } from './pool-history.ts';
import { statsOf } from './stats.ts';

/** A page of the matches, and the count of all. */
interface Found {
  items: ProxyRecord[];
  total: number;
}

interface PoolOverview {
  summary: PoolSummary;
  /** Working proxies by response time; see `createLatencies`. */
  latencies: number[];
  samples: PoolSample[];
}

interface PartQuery extends Omit<ProxyQuery, 'sort'> {
  /** `random` has no pages, and so no offset. */
  sort: Sort | 'random';
  /** Counts pages from the end of the order. */
  reverse?: boolean;
  /** Return only the most dependable of the matches with the same exit address. */
  uniqueExit?: boolean;
}

/** How far back the samples go. */
type Span = 'day' | 'month';

interface PoolReadingOptions {
  store: Pick<ProxyStore, 'find' | 'sample' | 'stream' | 'endpoints' | 'get' | 'summary' | 'version'>;
  latencies: () => Promise<number[]>;
  history: Pick<PoolHistory, 'samples' | 'hourly'>;
}

export function createPoolReading({ store, latencies, history }: PoolReadingOptions) {
  /** Returns the most dependable of the matches with the same exit address, the most dependable first. */
  async function exits(filter: ProxyFilter): Promise<ProxyRecord[]> {
    const isFirst = createExitFilter();
    return (await Array.fromAsync(store.stream(filter), (batch) => batch.filter(isFirst))).flat();
  }

  /** Yields the same in another order. */
  async function* inOrder(filter: ProxyFilter, order: Sort | 'random', found?: ProxyRecord[]) {
    const chosen = new Set((found ?? (await exits(filter))).map(({ id }) => id));
    for await (const batch of store.stream(filter, order)) yield batch.filter(({ id }) => chosen.has(id));
  }

  async function unique({ filter, sort, offset, limit }: PartQuery): Promise<Found> {
    const found = await exits(filter);
    const end = offset + limit;
    if (sort === 'dependable') return { items: found.slice(offset, end), total: found.length };
    const items: ProxyRecord[] = [];
    for await (const batch of inOrder(filter, sort, found)) {
      for (const record of batch) items.push(record);
      if (items.length >= end) break;
    }
    return { items: items.slice(offset, end), total: found.length };
  }

  async function page(query: PartQuery): Promise<Found> {
    const { filter, sort, offset, limit, uniqueExit = false } = query;
    if (uniqueExit) return unique(query);
    return sort === 'random' ? store.sample(filter, limit) : store.find({ filter, sort, offset, limit });
  }

  return {
    async list({ reverse = false, ...query }: PartQuery): Promise<Found> {
      if (!reverse) return page(query);
      const { total } = await page({ ...query, offset: 0, limit: 1 });
      const end = Math.max(0, total - query.offset);
      const offset = Math.max(0, end - query.limit);
      if (end === 0) return { items: [], total };
      const { items } = await page({ ...query, offset, limit: end - offset });
      return { items: items.reverse(), total };
    },
    /** Returns all matches as text, in chunks of some hundred. */
    export(query: ExportQuery): AsyncIterable<string> {
      const { uniqueExit, ranked, order, filter } = query;
      if (!uniqueExit || ranked || order === 'dependable') return exportProxies(store, query);
      // The most dependable of each exit, and only then the order.
      return exportProxies(store, { ...query, uniqueExit: false, ranked: inOrder(filter, order) });
    },
    /** Changes whenever an answer about the pool may change. */
    version: () => store.version(),

    stats: async () => statsOf(await store.summary()),

    /** Returns what the page draws of the pool: its numbers, working proxies by response time, and its history. */
    async overview(span: Span = 'day'): Promise<PoolOverview> {
      const [summary, counts, samples] = await Promise.all([
        store.summary(),
        latencies(),
        span === 'day' ? history.samples() : history.hourly(),
      ]);
      return { summary, latencies: counts, samples };
    },

    async filters(): Promise<{
      protocols: readonly string[];
      countries: string[];
      statuses: readonly string[];
    }> {
      const { countries } = await store.summary();
      return { protocols: PROTOCOLS, countries, statuses: STATUSES };
    },

    /** @throws {AppError} `not_found` */
    async get(id: number): Promise<ProxyRecord> {
      const record = await store.get(id);
      if (!record) throw new AppError('not_found', inEnglish(`There is no proxy with the ID ${id}.`));
      return record;
    },
  };
}

export type PoolReading = ReturnType<typeof createPoolReading>;
