import { BoundedMap } from '../lib/bounded-map.ts';

/** Number of answer times that are remembered. */
const REMEMBERED = 256;
/** With fewer results, the initial estimates are used. */
const NEEDED = 32;
const FIRST_GUESS = { usualMs: 250, longMs: 500 } as const;
const LEAST_MS = 100;
const MOST_MS = 1_500;
/** The most that a site with slow answers can raise the time to. */
const MOST_FOR_SITE_MS = 5_000;
const MOST_SITES = 200;

/**
 * Tokens for attempts while others are pending: a supply for the start, when nothing is known yet, and more with each
 * request.
 */
const TOKENS = { most: 400, perRequest: 0.5 } as const;

/** Decides when one more upstream is tried although another may still answer, and how often that may happen. */
export interface Hedges {
  /** Returns the time within which nearly all answers of the site come, within limits. */
  afterMs(site: string): number;
  /** Returns the time within which half of all answers come. */
  readonly usualMs: number;
  /** Learns from an answer. */
  observe(site: string, ms: number): void;
  /** Counts a request. */
  request(): void;
  /** Takes a token for one more attempt. Returns false if there were too many for the requests. */
  take(): boolean;
}

export function createHedges(): Hedges {
  const times: number[] = [];
  /** Fading mean of a site's answer times, and of their distance from it. */
  const sites = new BoundedMap<string, { meanMs: number; spreadMs: number }>(MOST_SITES);
  let count = 0;
  let usualMs: number = FIRST_GUESS.usualMs;
  let longMs: number = FIRST_GUESS.longMs;
  let tokens: number = TOKENS.most;
  return {
    get usualMs() {
      return usualMs;
    },
    afterMs(site) {
      const { meanMs, spreadMs } = sites.get(site) ?? { meanMs: 0, spreadMs: 0 };
      return Math.max(longMs, Math.min(MOST_FOR_SITE_MS, meanMs + 3 * spreadMs));
    },
    observe(site, ms) {
      const known = sites.get(site) ?? { meanMs: ms, spreadMs: ms / 4 };
      const distance = Math.abs(ms - known.meanMs);
      sites.set(site, {
        meanMs: known.meanMs * 0.9 + ms * 0.1,
        spreadMs: known.spreadMs * 0.9 + distance * 0.1,
      });
      times[count++ % REMEMBERED] = ms;
      if (count < NEEDED || count % NEEDED !== 0) return;
      const sorted = times.toSorted((a, b) => a - b);
      const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
      usualMs = at(0.5);
      longMs = Math.min(MOST_MS, Math.max(LEAST_MS, at(0.95) * 1.1));
    },
    request() {
      tokens = Math.min(TOKENS.most, tokens + TOKENS.perRequest);
    },
    take() {
      if (tokens < 1) return false;
      tokens--;
      return true;
    },
  };
}
