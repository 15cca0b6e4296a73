import type { Clock } from '../../src/lib/clock.ts';
import { breathe } from '../../src/lib/schedule.ts';

/** A clock that stands still until it is told to go on. */
export interface FakeClock extends Clock {
  /** Lets the time pass, waking sleepers in order, each after what the one before set in motion has settled. */
  advance(ms: number): Promise<void>;
}

interface Sleeper {
  at: number;
  wake: () => void;
}

/** @param turns how many turns of the event loop everything needs to settle after a wake-up. */
export function createFakeClock(startMs = Date.UTC(2026, 0, 31, 8), turns = 10): FakeClock {
  let now = startMs;
  const sleepers = new Map<number, Set<Sleeper>>();
  /** Wake-up times, a binary heap with the earliest first. */
  const times: number[] = [];

  function push(time: number): void {
    let index = times.push(time) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((times[parent] ?? 0) <= time) break;
      times[index] = times[parent] ?? 0;
      index = parent;
    }
    times[index] = time;
  }

  function pop(): void {
    const last = times.pop();
    if (times.length === 0 || last === undefined) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= times.length) break;
      if ((times[child + 1] ?? Number.POSITIVE_INFINITY) < (times[child] ?? 0)) child++;
      if ((times[child] ?? 0) >= last) break;
      times[index] = times[child] ?? 0;
      index = child;
    }
    times[index] = last;
  }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await breathe();
  }

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
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
          push(at);
        }
        group.add(sleeper);
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let next = times[0]; next !== undefined && next <= until; next = times[0]) {
        pop();
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
