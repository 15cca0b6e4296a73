/** Number of answer times that are remembered. */
const REMEMBERED = 256;
/** With fewer results, the initial estimate is used. */
const NEEDED = 32;
const FIRST_GUESS_MS = 500;
const LEAST_MS = 100;
const MOST_MS = 1_500;

/**
 * Tokens for attempts while others are pending: a supply for the start, when nothing is known yet, and more with each
 * request.
 */
const TOKENS = { most: 400, perRequest: 0.5 } as const;

/** Decides when one more upstream is tried although another may still answer, and how often that may happen. */
export interface Hedges {
  /** The observed 95th percentile of answers, within limits. */
  readonly afterMs: number;
  /** Learns from an answer. */
  observe(ms: number): void;
  /** Counts a request. */
  request(): void;
  /** Takes a token for one more attempt. Returns false if there were too many for the requests. */
  take(): boolean;
}

export function createHedges(): Hedges {
  const times: number[] = [];
  let count = 0;
  let afterMs = FIRST_GUESS_MS;
  let tokens: number = TOKENS.most;
  return {
    get afterMs() {
      return afterMs;
    },
    observe(ms) {
      times[count++ % REMEMBERED] = ms;
      if (count < NEEDED || count % NEEDED !== 0) return;
      const sorted = times.toSorted((a, b) => a - b);
      const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? FIRST_GUESS_MS;
      afterMs = Math.min(MOST_MS, Math.max(LEAST_MS, p95 * 1.1));
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
