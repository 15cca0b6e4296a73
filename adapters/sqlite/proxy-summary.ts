import { PROTOCOLS, type Protocol, STATUSES, type Status } from '../../src/proxy/proxy.ts';
import type { CountryCount, PoolSummary } from '../../src/proxy/store.ts';

/**
 * A row of `proxy_counts`: the number of proxies, how many have a response time, and the sum of these in
 * microseconds.
 */
export interface CountRow {
  status: Status;
  protocol: Protocol;
  country: string;
  count: number;
  timed: number;
  total_us: number;
}

/** Computes the statistics of the whole pool from the counts of its groups. */
export function summarise(rows: readonly CountRow[]): PoolSummary {
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
