import { setTimeout } from 'node:timers/promises';

/** Time as a parameter, so that tests and simulations can control it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** Resolves after `ms`, or rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    // It rejects with an error of its own if the signal aborts.
    setTimeout(ms, undefined, { signal }).catch(() => signal?.throwIfAborted()),
};

/** Returns `2026-01-31 08:05:09` in UTC, the timestamp format of the API. */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
