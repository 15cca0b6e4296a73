import { uptimeOf } from '../pool/history.ts';
import type { ProxyFilter, ProxyRecord } from '../proxy.ts';
import type { ProxyStore } from '../store.ts';
import { endpointsOf, proxyKeyOf } from './site.ts';
import { createSites, type SiteFacts } from './sites.ts';

interface RankingOptions {
  store: Pick<ProxyStore, 'lookup' | 'find' | 'stream'>;
  filter: ProxyFilter;
  /** What is known about the site; `null` if nothing is. The order only changes with it. */
  facts: SiteFacts | null;
  /** How many matches the caller wants, if known. */
  wanted: number;
}

interface Ranked {
  record: ProxyRecord;
  chance: number;
}

/** More matches are read as a stream, which costs something to start but nothing for each page. */
export const MOST_PAGED = 2_000;

/**
 * Yields the matches by their expected chance to reach the site, with the score as the prior. Proxies without
 * results keep the order of the score, so that only the few hundred others have to be merged in.
 */
export async function* rankFor({
  store,
  filter,
  facts,
  wanted,
}: RankingOptions): AsyncIterable<ProxyRecord[]> {
  const snapshot = createSites({ random: () => 0.5 });
  if (facts) snapshot.replace('', facts);
  const chanceOf = (record: ProxyRecord) => snapshot.chance('', proxyKeyOf(record), record.uptime);

  const observed = await store.lookup([...(facts?.pairs.keys() ?? [])].flatMap(endpointsOf));
  const known = observed
    .filter((record) => matchesFilter(record, filter))
    .map((record): Ranked => ({ record, chance: chanceOf(record) }))
    .sort(better);
  const others = wanted <= MOST_PAGED ? pagesOf(store, filter, wanted) : store.stream(filter);

  const seen = new Set(known.map(({ record }) => record.id));
  let next = 0;
  for await (const batch of others) {
    const sorted: ProxyRecord[] = [];
    for (const record of batch) {
      if (seen.has(record.id)) continue;
      seen.add(record.id);
      const chance = chanceOf(record);
      for (let best = known[next]; best && best.chance >= chance; best = known[++next])
        sorted.push(best.record);
      sorted.push(record);
    }
    yield sorted;
  }
  yield known.slice(next).map(({ record }) => record);
}

/** Yields pages of proxies, most dependable first. Each page is as large as all before it together. */
async function* pagesOf(
  store: Pick<ProxyStore, 'find'>,
  filter: ProxyFilter,
  first: number,
): AsyncIterable<ProxyRecord[]> {
  let offset = 0;
  for (let limit = first; ; limit = offset) {
    const { items, total } = await store.find({ filter, sort: 'dependable', offset, limit });
    yield items;
    offset += items.length;
    if (items.length === 0 || offset >= total) return;
  }
}

function better(one: Ranked, other: Ranked): number {
  return (
    other.chance - one.chance ||
    other.record.uptime - one.record.uptime ||
    (one.record.responseMs ?? Infinity) - (other.record.responseMs ?? Infinity) ||
    one.record.id - other.record.id
  );
}

/**
 * Reports whether a record matches a filter. Stores have their own implementations, which their suite
 * compares with this one.
 */
export function matchesFilter(record: ProxyRecord, filter: ProxyFilter): boolean {
  const { status, anonymity, proofs, source } = filter;
  return (
    (status === undefined || record.status === status) &&
    (anonymity === undefined || record.anonymity === anonymity) &&
    (proofs === undefined || (record.proof !== null && proofs.includes(record.proof))) &&
    (source === undefined || record.source === source) &&
    (filter.maxResponseMs === undefined || (record.responseMs ?? Infinity) <= filter.maxResponseMs) &&
    record.lastChecked >= (filter.checkedSince ?? -Infinity) &&
    record.lastChecked <= (filter.checkedUntil ?? Infinity) &&
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
