/** Least time between two direct questions to one host. */
export const QUESTION_GAP_MS = 5_000;

/** Where it is one of our own network, as its address tells. */
export const HOME_GAP_MS = 250;

/** Interval of requests to a host that keeps failing. */
const LONGEST_GAP_MS = 60_000;

/** When one host may be asked directly: never in quick succession, ever more seldom while it fails, and not before it wants to be. */
export interface Politeness {
  /** Ms from now until it may be asked again; 0 or less: at once. */
  waitMs(): number;
  began(): void;
  answered(): void;
  /** `retryAfterMs`: what the host itself asked for. */
  failed(retryAfterMs: number | null): void;
}

export function createPoliteness(gapMs: () => number, monotonic: () => number): Politeness {
  let from = Number.NEGATIVE_INFINITY;
  let failures = 0;
  return {
    waitMs: () => from - monotonic(),
    began() {
      from = monotonic() + gapMs();
    },
    answered() {
      failures = 0;
    },
    failed(retryAfterMs) {
      const pauseMs = Math.min(gapMs() * 2 ** failures++, LONGEST_GAP_MS);
      from = Math.max(from, monotonic() + Math.max(pauseMs, retryAfterMs ?? 0));
    },
  };
}
