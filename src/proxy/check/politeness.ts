import { setTimeout } from 'node:timers/promises';

/** Minimum time between two direct questions to one host. */
export const QUESTION_GAP_MS = 5_000;

/** The same for a host whose address is in our own network. */
export const HOME_GAP_MS = 250;

/** Interval of requests to a host that keeps failing. */
const LONGEST_GAP_MS = 60_000;

/**
 * Decides when a host may be asked directly: never in quick succession, less often while it fails, and not
 * before the time it asked for.
 */
interface Politeness {
  /** Ms until it may be asked again; 0 or less means now. */
  waitMs(): number;
  began(): void;
  answered(): void;
  /** `retryAfterMs`: how long the host asked us to wait. */
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

/** Waits as long as a `waitMs` says: not at all for 0 or less. */
export async function pause(waitMs: number): Promise<void> {
  if (waitMs > 0) await setTimeout(waitMs);
}
