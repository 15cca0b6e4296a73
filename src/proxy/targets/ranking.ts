import { formatUrl, type ProxyFilter, type ProxyRecord } from '../proxy.ts';
import type { ProxyStore } from '../store.ts';
import { endpointsOf, proxyKeyOf } from './site.ts';
import { createSites, type SiteFacts } from './sites.ts';

/** Matches in the order of how likely they reach a site. */
export interface Ranking {
  /** The count of all matches. */
  total: number;
  /** All of them, in batches. */
  records: AsyncIterable<ProxyRecord[]>;
}

interface Ranked {
  record: ProxyRecord;
  chance: number;
}

/** Endpoints of one question to the store. */
const LOOKED_UP = 100;

/**
 * Orders all matches by the mean of the likely chances that they reach the site, for which the score of each is the prior. Those of
 * which nothing is known stand in the order of the score, so that only the few hundred others have to be sorted in. `facts`: what is
 * known about the site; while it is the same, so is the order.
 */
export async function rankFor(
  store: Pick<ProxyStore, 'endpoints' | 'lookup' | 'stream'>,
  filter: ProxyFilter,
  facts: SiteFacts | null,
): Promise<Ranking> {
  const snapshot = createSites({ random: () => 0.5 });
  if (facts) snapshot.replace('', facts);
  const chanceOf = (record: ProxyRecord) => snapshot.chance('', proxyKeyOf(record), record.uptime);

  const observed = new Set([...(facts?.pairs.keys() ?? [])].flatMap(endpointsOf).map(formatUrl));
  const matching: Parameters<ProxyStore['lookup']>[0][number][] = [];
  let total = 0;
  for await (const batch of store.endpoints(filter)) {
    total += batch.length;
    if (observed.size > 0) matching.push(...batch.filter((endpoint) => observed.has(formatUrl(endpoint))));
  }
  const known: Ranked[] = [];
  for (let start = 0; start < matching.length; start += LOOKED_UP) {
    const found = await store.lookup(matching.slice(start, start + LOOKED_UP));
    known.push(...found.map((record) => ({ record, chance: chanceOf(record) })));
  }
  known.sort(
    (one, other) =>
      other.chance - one.chance ||
      other.record.uptime - one.record.uptime ||
      (one.record.responseMs ?? Infinity) - (other.record.responseMs ?? Infinity) ||
      one.record.id - other.record.id,
  );
  return { total, records: merge(store.stream(filter), known, chanceOf) };
}

/** The others in their order, with each of the known where its chance puts it. */
async function* merge(
  others: AsyncIterable<ProxyRecord[]>,
  known: readonly Ranked[],
  chanceOf: (record: ProxyRecord) => number,
): AsyncIterable<ProxyRecord[]> {
  const ids = new Set(known.map(({ record }) => record.id));
  let next = 0;
  for await (const batch of others) {
    const sorted: ProxyRecord[] = [];
    for (const record of batch) {
      if (ids.has(record.id)) continue;
      const chance = chanceOf(record);
      for (let best = known[next]; best && best.chance >= chance; best = known[++next])
        sorted.push(best.record);
      sorted.push(record);
    }
    yield sorted;
  }
  yield known.slice(next).map(({ record }) => record);
}
