import type { Clock } from '../lib/clock.ts';
import type { ProxyStore } from './store.ts';

/** How many living proxies a country has. */
export interface CountryCount {
  country: string;
  count: number;
}

/** The living, counted in one pass. */
export interface Census {
  /** Most first. */
  countries: CountryCount[];
  /** By response time: one count for each of `LATENCY_BOUNDS`, and the last for what is slower. */
  latencies: number[];
}

/** Upper bounds of response times in ms, each included. */
export const LATENCY_BOUNDS = [100, 250, 500, 1000, 2000, 4000] as const;

/** All living proxies are read for it, so an answer is good for this long even while a refresh changes them. */
const KEEP_MS = 15_000;

/** Counts the living by country and by response time. */
export function createCensus(
  store: Pick<ProxyStore, 'stream' | 'version'>,
  clock: Pick<Clock, 'now'>,
): () => Promise<Census> {
  let known: { version: string; at: number; census: Promise<Census> } | null = null;

  async function count(): Promise<Census> {
    const counts = new Map<string, number>();
    const latencies = Array.from({ length: LATENCY_BOUNDS.length + 1 }, () => 0);
    for await (const batch of store.stream({ status: 'alive' })) {
      for (const { country, responseMs } of batch) {
        counts.set(country, (counts.get(country) ?? 0) + 1);
        const place = LATENCY_BOUNDS.findIndex((bound) => (responseMs ?? Infinity) <= bound);
        const slot = place < 0 ? LATENCY_BOUNDS.length : place;
        latencies[slot] = (latencies[slot] ?? 0) + 1;
      }
    }
    const countries = [...counts]
      .map(([country, count]) => ({ country, count }))
      .sort((a, b) => b.count - a.count || a.country.localeCompare(b.country));
    return { countries, latencies };
  }

  return async () => {
    const version = await store.version();
    if (known && (known.version === version || clock.now() - known.at < KEEP_MS)) return known.census;
    const census = count();
    const current = { version, at: clock.now(), census };
    known = current;
    census.catch(() => {
      if (known === current) known = null;
    });
    return census;
  };
}
