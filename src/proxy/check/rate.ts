/** How long unused capacity is kept. */
const BURST_MS = 10_000;

/** Limits the average rate of requests to one host. */
export interface Rate {
  /** Ms until there is capacity again; 0 or less means now. */
  waitMs(): number;
  /** Counts one request. An overdraft makes later requests wait. */
  spend(): void;
}

/** `perSecond` may be infinite. */
export function createRate(perSecond: number, monotonic: () => number): Rate {
  if (perSecond === Number.POSITIVE_INFINITY) return { waitMs: () => 0, spend: () => {} };
  const eachMs = 1000 / perSecond;
  let freeAt = Number.NEGATIVE_INFINITY;
  return {
    waitMs: () => freeAt - monotonic(),
    spend() {
      freeAt = Math.max(freeAt, monotonic() - BURST_MS) + eachMs;
    },
  };
}
