/** How much the clocks of copies, and of stores, may differ, in ms. */
export const SKEW_MS = 60_000;

/**
 * Returns how many ms have passed since a time that was written down earlier; `Infinity` if it is `null`, or in the
 * future: a clock that was ahead wrote it, so it says nothing, and must not keep anything from happening. `skewMs`:
 * times that are less far in the future count as now. Default: 60 s, for what other copies write. Use 0 for times
 * that this process has noted itself.
 */
export function elapsedSince(at: number | null, now: number, skewMs = SKEW_MS): number {
  return at === null || at > now + skewMs ? Number.POSITIVE_INFINITY : Math.max(0, now - at);
}

/**
 * Returns a time that was written down for something to do, or `now` if it is more than `mostMs`, the longest wait
 * that is ever planned, in the future.
 */
export function plannedFor(at: number, now: number, mostMs: number): number {
  return at > now + mostMs + SKEW_MS ? now : at;
}

/** Reports whether something that lasts `lifeMs` and ends at `until` is still good. */
export function isGoodUntil(until: number, now: number, lifeMs: number): boolean {
  return until > now && until <= now + lifeMs + SKEW_MS;
}
