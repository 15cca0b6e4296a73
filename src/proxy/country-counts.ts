import type { Clock } from '../lib/clock.ts';
import type { ProxyStore } from './store.ts';

/** How many living proxies a country has. */
export interface CountryCount {
  country: string;
  count: number;
}

/** All living proxies are read for it, so an answer is good for this long even while a refresh changes them. */
const KEEP_MS = 15_000;

/** Counts the living by country, most first. */
export function createCountryCounts(
  store: Pick<ProxyStore, 'stream' | 'version'>,
  clock: Pick<Clock, 'now'>,
): () => Promise<CountryCount[]> {
  let known: { version: string; at: number; counts: Promise<CountryCount[]> } | null = null;

  async function count(): Promise<CountryCount[]> {
    const counts = new Map<string, number>();
    for await (const batch of store.stream({ status: 'alive' })) {
      for (const { country } of batch) counts.set(country, (counts.get(country) ?? 0) + 1);
    }
    return [...counts]
      .map(([country, count]) => ({ country, count }))
      .sort((a, b) => b.count - a.count || a.country.localeCompare(b.country));
  }

  return async () => {
    const version = await store.version();
    if (known && (known.version === version || clock.now() - known.at < KEEP_MS)) return known.counts;
    const counts = count();
    const current = { version, at: clock.now(), counts };
    known = current;
    counts.catch(() => {
      if (known === current) known = null;
    });
    return counts;
  };
}
