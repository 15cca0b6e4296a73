import { uptimeOf } from './history.ts';
import type { ProxyFilter, ProxyRecord } from './proxy.ts';

/**
 * Reports whether a record matches a filter. Stores have their own implementations, which their suite
 * compares with this one.
 */
export function matchesFilter(record: ProxyRecord, filter: ProxyFilter): boolean {
  const { protocol, country, excludeCountry, status, anonymity, proofs, source } = filter;
  return (
    (protocol === undefined || record.protocol === protocol) &&
    (country === undefined || record.country === country) &&
    (excludeCountry === undefined || record.country !== excludeCountry) &&
    (status === undefined || record.status === status) &&
    (anonymity === undefined || record.anonymity === anonymity) &&
    (proofs === undefined || (record.proof !== null && proofs.includes(record.proof))) &&
    (source === undefined || record.source === source) &&
    (filter.maxResponseMs === undefined || (record.responseMs ?? Infinity) <= filter.maxResponseMs) &&
    (filter.checkedSince === undefined || record.lastChecked >= filter.checkedSince) &&
    (filter.minScore === undefined || record.uptime >= filter.minScore) &&
    (filter.minUptime === undefined || (uptimeOf(record) ?? -1) >= filter.minUptime) &&
    (filter.protocols?.includes(record.protocol) ?? true) &&
    (filter.countries?.includes(record.country) ?? true) &&
    !(filter.excludeCountries?.includes(record.country) ?? false) &&
    (filter.ports?.includes(record.port) ?? true) &&
    (filter.tampers === undefined ||
      (record.tampering !== null && filter.tampers === (record.tampering !== ''))) &&
    (filter.login === undefined || filter.login === (record.login !== null))
  );
}
