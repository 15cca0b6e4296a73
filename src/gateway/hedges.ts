/** Times to an answer that are remembered. */
const REMEMBERED = 256;
/** With fewer results, the initial estimate is used. */
const NEEDED = 32;
const FIRST_GUESS_MS = 500;
const LEAST_MS = 100;
const MOST_MS = 1_500;

/** Tokens for attempts beside others: so many at the start, for nothing is known then, and so many more with each request. */
const TOKENS = { most: 400, perRequest: 0.5 } as const;

/** When one more upstream is tried although another may still answer, and how often that may be. */
export interface Hedges {
  /** The observed 95th percentile of answers, within limits. */
  readonly afterMs: number;
  /** Learns from an answer. */
  observe(ms: number): void;
  /** A request has come. */
  request(): void;
  /** Takes leave for one more; false when there have been too many for the requests. */
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
