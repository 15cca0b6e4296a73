/** A remote is left out once others have accepted this many proxies that it refused. */
const LEAST_OVERRULED = 5;
/** Beyond this count, old results fade. */
const MOST_COUNTED = 100;
const LEFT_OUT_MS = { first: 10 * 60_000, most: 2 * 3_600_000 } as const;

/**
 * Compares a judge or a witness with the others. It may answer us and still refuse proxies: each proxy that
 * it refuses and another one accepts counts against it.
 */
export interface Standing {
  accepted(): void;
  /** Records that it refused a proxy that another one accepted right after. */
  overruled(): void;
  /** Reports whether it is unused for now because it refuses what others accept. */
  isLeftOut(): boolean;
}

export function createStanding(monotonic: () => number, onLeftOut: (forMs: number) => void): Standing {
  let accepted = 0;
  let overruled = 0;
  let pauseMs: number = LEFT_OUT_MS.first;
  let until = Number.NEGATIVE_INFINITY;

  function fade(): void {
    if (accepted + overruled < MOST_COUNTED) return;
    accepted /= 2;
    overruled /= 2;
  }

  return {
    accepted() {
      accepted++;
      // It has worked well since it was last left out.
      if (accepted > LEAST_OVERRULED) pauseMs = LEFT_OUT_MS.first;
      fade();
    },
    overruled() {
      overruled++;
      fade();
      if (overruled < LEAST_OVERRULED || overruled <= accepted) return;
      until = monotonic() + pauseMs;
      onLeftOut(pauseMs);
      pauseMs = Math.min(LEFT_OUT_MS.most, pauseMs * 2);
      accepted = 0;
      overruled = 0;
    },
    isLeftOut: () => monotonic() < until,
  };
}
