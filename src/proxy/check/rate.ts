/** How long unused room is kept. */
const BURST_MS = 10_000;

/** How much one host is given to do on average. */
export interface Rate {
  /** Ms until it has room again; 0 or less: it has. */
  waitMs(): number;
  /** Notes one that it has done; more than there was room for are made up for by waiting. */
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
