/**
 * Delays the refusals of a client that ignores them. Otherwise a client that retries at once over thousands of
 * connections would use up the processor with refusals alone.
 */
export interface Patience {
  /** Returns how long to delay this refusal, or `null` for the first ones of each second, which are not delayed. */
  holdBack(client: string): Promise<void> | null;
}

interface PatienceOptions {
  sleep: (ms: number) => Promise<void>;
  /** Milliseconds; only differences count. */
  now: () => number;
  /** 0 to 1; spreads requests that came together. */
  random: () => number;
}

/** Number of refusals a second that are not delayed. */
const AT_ONCE = 20;
const LEAST_MS = 1000;
const MOST_MS = 3000;
/** Maximum number of delayed requests of all clients; some 20 MB. More are refused at once. */
const MAX_HELD = 20_000;

export function createPatience({ sleep, now, random }: PatienceOptions): Patience {
  /** Refusals in this second, by client. */
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
