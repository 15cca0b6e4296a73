import { breathe } from '../../src/lib/schedule.ts';

interface Sleeper {
  at: number;
  wake: () => void;
}

/** A clock that stands still until it is told to go on. `turns`: how many turns of the event loop everything needs to settle after a wake-up. */
export function createFakeClock(startMs = Date.UTC(2026, 0, 31, 8), turns = 10) {
  let now = startMs;
  const sleepers = new Map<number, Set<Sleeper>>();
  /** Wake-up times, the earliest last. */
  const times: number[] = [];

  async function settle(): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await breathe();
  }

  return {
    now: () => now,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const at = now + Math.max(0, ms);
        const onAbort = () => {
          group.delete(sleeper);
          reject(signal?.reason);
        };
        const sleeper: Sleeper = {
          at,
          wake() {
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
        };
        const group = sleepers.get(at) ?? new Set();
        if (!sleepers.has(at)) {
          sleepers.set(at, group);
          const later = times.findLastIndex((time) => time > at);
          times.splice(later + 1, 0, at);
        }
        group.add(sleeper);
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
    /** Lets the time pass, waking sleepers in order, each after what the one before set in motion has settled. */
    async advance(ms: number) {
      const until = now + ms;
      await settle();
      for (let next = times.at(-1); next !== undefined && next <= until; next = times.at(-1)) {
        times.pop();
        now = next;
        const due = sleepers.get(next);
        sleepers.delete(next);
        if (!due || due.size === 0) continue;
        for (const { wake } of due) wake();
        await settle();
      }
      now = until;
    },
  };
}
