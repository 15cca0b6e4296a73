import { BoundedMap } from '../lib/bounded-map.ts';

/** What is assumed of a site before its first answer. */
const FIRST_GUESS = { meanMs: 250, spreadMs: 100 } as const;
/** How far answers are expected to spread at least, until a site has sent some. */
const FIRST_SPREAD_MS = 150;
const LEAST_MS = 100;
const MOST_MS = 5_000;
const MOST_SITES = 200;

/**
 * Tokens for attempts while others are pending: a supply for the start, when nothing is known yet, and more with each
 * request.
 */
const TOKENS = { most: 400, perRequest: 0.5 } as const;

/** Decides when one more upstream is tried although another may still answer, and how often that may happen. */
export class Hedges {
  /** Of a site: the fading mean of the time to its answers, and their distance from it. */
  readonly #sites = new BoundedMap<string, { meanMs: number; spreadMs: number }>(MOST_SITES);
  #tokens: number = TOKENS.most;

  /** Returns the time within which nearly all answers of the site come, within limits. */
  afterMs(site: string): number {
    const { meanMs, spreadMs } = this.#sites.get(site) ?? FIRST_GUESS;
    return Math.min(MOST_MS, Math.max(LEAST_MS, meanMs + 3 * spreadMs));
  }

  /** Learns from an answer. */
  observe(site: string, ms: number): void {
    const first = { meanMs: ms, spreadMs: Math.max(FIRST_SPREAD_MS, ms / 4) };
    const { meanMs, spreadMs } = this.#sites.get(site) ?? first;
    this.#sites.set(site, {
      meanMs: meanMs * 0.9 + ms * 0.1,
      spreadMs: spreadMs * 0.9 + Math.abs(ms - meanMs) * 0.1,
    });
  }

  request(): void {
    this.#tokens = Math.min(TOKENS.most, this.#tokens + TOKENS.perRequest);
  }

  /** Takes a token for one more attempt. Returns false if there were too many for the requests. */
  take(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
