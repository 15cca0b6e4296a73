/**
 * Delays the refusals of a client that ignores them. A client that asks again at once over
 * thousands of connections would else take the processor with refusals alone.
 */
export interface Patience {
  /** Returns how long this refusal is delayed, or `null` for none: the first ones of each second are not. */
  holdBack(client: string): Promise<void> | null;
}

export interface PatienceOptions {
  sleep: (ms: number) => Promise<void>;
  /** Milliseconds; only differences count. */
  now: () => number;
  /** 0 to 1; spreads what came together. */
  random: () => number;
}

/** Number of refusals per second that are not delayed. */
const AT_ONCE = 20;
const LEAST_MS = 1000;
const MOST_MS = 3000;
/** Requests that are held back at once, of all clients; some 20 MB. More are refused at once. */
const MAX_HELD = 20_000;

export function createPatience({ sleep, now, random }: PatienceOptions): Patience {
  /** Refusals of this second, by client. */
  const refused = new Map<string, number>();
  let second = Number.NEGATIVE_INFINITY;
  let held = 0;

  return {
    holdBack(client) {
      if (now() - second >= 1000) {
        second = now();
        refused.clear();
      }
      const before = refused.get(client) ?? 0;
      refused.set(client, before + 1);
      if (before < AT_ONCE || held >= MAX_HELD) return null;
      held++;
      return sleep(LEAST_MS + random() * (MOST_MS - LEAST_MS)).finally(() => {
        held--;
      });
    },
  };
}
