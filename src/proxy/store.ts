import type { Fence } from '../lib/locks.ts';
import type { Endpoint, Protocol, ProxyFilter, ProxyRecord, Sort, Status } from './proxy.ts';

/** What a caller wants saved; the store gives the id. */
export type ProxyDraft = Omit<ProxyRecord, 'id'>;

export interface ProxyQuery {
  filter: ProxyFilter;
  sort: Sort;
  offset: number;
  limit: number;
}

/** How many proxies a country has. */
export interface CountryCount {
  country: string;
  count: number;
}

/** Numbers about the whole pool. */
export interface PoolSummary {
  alive: number;
  total: number;
  /** Mean response time of the living in ms; 0 when there are none. */
  averageResponseMs: number;
  /** The living by country, most first, `ZZ` included. */
  aliveCountries: CountryCount[];
  /** Countries of all, sorted, `ZZ` included when it occurs. */
  countries: string[];
  counts: { protocol: Protocol; status: Status; count: number }[];
}

/**
 * Where proxy records live. All methods are atomic and may run side by side; what one has written, the next
 * reads. Large removals (`removeDead`, `evict`) may go in steps, each of them atomic. Failures of the storage itself
 * reject with `AppError('unavailable')`, a full disk with `storage_full`. A write with a `fence` that is older than one the
 * store has seen rejects with `conflict`, and changes nothing.
 */
export interface ProxyStore {
  /** A page of the matches in the order of `sort`, and the count of all matches. */
  find(query: ProxyQuery): Promise<{ items: ProxyRecord[]; total: number }>;
  /** Up to `limit` matches drawn at random, each at most once, and the count of all matches. */
  sample(filter: ProxyFilter, limit: number): Promise<{ items: ProxyRecord[]; total: number }>;
  /**
   * All matches, in batches, most dependable first, never the whole pool in memory. What is written meanwhile
   * may or may not be seen; no record comes twice.
   */
  stream(filter: ProxyFilter): AsyncIterable<ProxyRecord[]>;
  /**
   * The endpoints of all matches, in batches of some hundred. In the order of `dependable` the first batch comes at once and
   * the whole pool is never in memory; other orders hold all ids. A record that is written meanwhile may be left out;
   * none comes twice.
   */
  endpoints(filter: ProxyFilter, order?: Sort | 'random'): AsyncIterable<Endpoint[]>;
  /**
   * The response times of the living in ms, in batches; `Infinity` where one is not known. Of a record that is written meanwhile
   * the time may come twice or not at all.
   */
  responseTimes(): AsyncIterable<number[]>;
  /** The record, or `null`. */
  get(id: number): Promise<ProxyRecord | null>;
  /** The records of those endpoints that are known, in any order. */
  lookup(endpoints: readonly Endpoint[]): Promise<ProxyRecord[]>;
  /**
   * Inserts or replaces each draft by its endpoint, all or none. A known endpoint keeps its id; two drafts of
   * one endpoint in a batch: the later one stands. A record that was checked later than its draft stays as it is. Answers
   * the drafts with their ids, in their order.
   */
  save(drafts: readonly ProxyDraft[], fence?: Fence): Promise<ProxyRecord[]>;
  /** Moves the next check of a record to `at`; false when there is no such record. */
  reschedule(id: number, at: number, fence?: Fence): Promise<boolean>;
  /** Records of a status whose next check is due at `now`, the longest overdue first. */
  due(now: number, limit: number, status: Status): Promise<ProxyRecord[]>;
  /** Removes the dead that were last alive (or, if never, first seen) before the time; answers how many. */
  removeDead(before: number, fence?: Fence): Promise<number>;
  /** Removes the worst records (dead first, then least dependable) until `keep` are left; answers how many. */
  evict(keep: number, fence?: Fence): Promise<number>;
  summary(): Promise<PoolSummary>;
  /**
   * Changes whenever a record was written or removed, by this process or another; equal means unchanged. What
   * others write may show a turn of the event loop later. Asked for every request, so that a store which knows it
   * answers without a promise. It never throws, but rejects.
   */
  version(): string | Promise<string>;
}
