import type { Fence } from '../lib/locks.ts';
import type { Endpoint, Protocol, ProxyFilter, ProxyRecord, Sort, Status } from './proxy.ts';

/** A record to save. The store assigns the ID. */
export type ProxyDraft = Omit<ProxyRecord, 'id'>;

export interface ProxyQuery {
  filter: ProxyFilter;
  sort: Sort;
  offset: number;
  limit: number;
}

/** Number of proxies in a country. */
export interface CountryCount {
  country: string;
  count: number;
}

/**
 * Longest planned wait for a check of a proxy in this state, in ms. A check that is planned for later was planned by a clock that was
 * ahead.
 */
export const MOST_WAIT_MS: Record<Status, number> = { alive: 1.2 * 3_600_000, dead: 48 * 3_600_000 };

/** Statistics of the whole pool. */
export interface PoolSummary {
  alive: number;
  total: number;
  /** Mean response time of working proxies in ms; 0 if there are none. */
  averageResponseMs: number;
  /** Working proxies by country, largest first, `ZZ` included. */
  aliveCountries: CountryCount[];
  /** Countries of all proxies, sorted, with `ZZ` if it occurs. */
  countries: string[];
  counts: { protocol: Protocol; status: Status; count: number }[];
}

/**
 * Stores proxy records. All methods are atomic and may run concurrently; each sees all completed writes.
 * Large removals (`removeDead`, `evict`) may take several steps, each of them atomic. Storage failures reject
 * with `AppError('unavailable')`, a full disk with `storage_full`. A write with a `fence` that is older than
 * one the store has seen rejects with `conflict` and changes nothing.
 */
export interface ProxyStore {
  /** Returns a page of the matches in the order of `sort`, and the count of all matches. */
  find(query: ProxyQuery): Promise<{ items: ProxyRecord[]; total: number }>;
  /** Returns up to `limit` random matches, each at most once, and the count of all matches. */
  sample(filter: ProxyFilter, limit: number): Promise<{ items: ProxyRecord[]; total: number }>;
  /**
   * Returns all matches in batches, with all IDs in memory, but never the whole pool. Concurrent writes may or may not be
   * seen. No record is repeated. Default order: `dependable`.
   */
  stream(filter: ProxyFilter, order?: Sort | 'random'): AsyncIterable<ProxyRecord[]>;
  /**
   * Returns the endpoints of all matches, most dependable first, in batches of some hundred. The first comes at once, and
   * the whole pool is never in memory. A record that is written meanwhile may be missing. None is repeated.
   */
  endpoints(filter: ProxyFilter): AsyncIterable<Endpoint[]>;
  /**
   * Returns the response times of working proxies in ms, in batches; `Infinity` if unknown. The time of a
   * record that is written meanwhile may be repeated or missing.
   */
  responseTimes(): AsyncIterable<number[]>;
  /** Returns the record, or `null`. */
  get(id: number): Promise<ProxyRecord | null>;
  /** Returns the records of the known endpoints, in any order. */
  lookup(endpoints: readonly Endpoint[]): Promise<ProxyRecord[]>;
  /**
   * Inserts or replaces each draft by its endpoint, all or none. A known endpoint keeps its ID. If a batch
   * has two drafts of one endpoint, the later one counts. A record that was checked later than its draft
   * stays unchanged, but not one that was checked in the future. Returns the drafts with their IDs, in order.
   */
  save(drafts: readonly ProxyDraft[], fence?: Fence): Promise<ProxyRecord[]>;
  /** Moves the next check of a record to `at`. Returns false if the record does not exist. */
  reschedule(id: number, at: number, fence?: Fence): Promise<boolean>;
  /**
   * Returns records of a status whose next check is due at `now`, the most overdue first. A check planned for more
   * than `MOST_WAIT_MS` later is due as well, before all others.
   */
  due(now: number, limit: number, status: Status): Promise<ProxyRecord[]>;
  /**
   * Removes dead proxies that were last alive, or first seen if they never were, before the time. Returns how many.
   */
  removeDead(before: number, fence?: Fence): Promise<number>;
  /** Removes the worst records (dead first, then least dependable) until `keep` are left. Returns how many. */
  evict(keep: number, fence?: Fence): Promise<number>;
  summary(): Promise<PoolSummary>;
  /**
   * Changes whenever this process or another writes or removes a record; an equal value means unchanged.
   * Writes of others may show a turn of the event loop later. Called for every request, so a store that knows
   * the version returns it without a promise. Never throws, but may reject.
   */
  version(): string | Promise<string>;
}
