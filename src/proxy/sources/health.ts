import type { SourceReport } from './source.ts';

/** What is remembered of one source. Times are ms since 1970; `null` if it never happened. */
export interface SourceHealth {
  name: string;
  /** Usable entries of the last reading. */
  found: number;
  /** Of these, endpoints that the pool did not know and no source before it had named. */
  fresh: number;
  /** Totals over all time. */
  alive: number;
  checked: number;
  /** Decayed share of checked entries that were alive, 0 to 1; `null` before enough were checked. */
  yield: number | null;
  /** Bad readings in a row. */
  failures: number;
  /** Rounds in a row in which next to none of its entries were alive. */
  barren: number;
  lastError: string | null;
  lastRead: number | null;
  /** It is not read before this time; 0: read it whenever the pool refreshes. */
  skipUntil: number;
}

const HOUR_MS = 3_600_000;
/** The first pause lets one hourly refresh pass; each further one doubles it. */
const FIRST_PAUSE_MS = 2 * HOUR_MS;
/** A source that is down for good costs one request a day, and one that comes back is missed for a day at most. */
const LONGEST_PAUSE_MS = 24 * HOUR_MS;
/** One bad reading is an accident: it costs nothing. */
const FAILURES_FORGIVEN = 1;
/**
 * Checks that make one judgement of a yield. Under 2 % of a raw list works; of 300 entries of such a list not one
 * is alive once in 400 rounds (0.98^300).
 */
const CHECKS_TO_JUDGE = 300;
/** A yield below this share of the source's own past is a collapse. */
const COLLAPSE = 0.1;
/** One judgement moves the yield by at most this share: about five rounds make up its memory. */
const MEMORY = 0.2;

/** What is known of a source before its first reading. */
export function newHealth(name: string): SourceHealth {
  return {
    name,
    found: 0,
    fresh: 0,
    alive: 0,
    checked: 0,
    yield: null,
    failures: 0,
    barren: 0,
    lastError: null,
    lastRead: null,
    skipUntil: 0,
  };
}

/** True when the source should be read at `now`. */
export function isDue(health: SourceHealth, now: number): boolean {
  return now >= health.skipUntil;
}

/**
 * The health after a reading, of whose entries `fresh` were new. A reading that found something is a good one even
 * where it ended in an error (a list beyond the size limit is still used). The first good one ends all pauses that
 * bad readings caused; those of a barren source end with `afterChecks`.
 */
export function afterRead(
  health: SourceHealth,
  report: Pick<SourceReport, 'found' | 'error'>,
  now: number,
  fresh = 0,
): SourceHealth {
  const good = report.found > 0;
  const failures = good ? 0 : health.failures + 1;
  const lastError = report.error ?? (good ? null : 'nothing usable in it');
  const pause = pauseAfter(failures - FAILURES_FORGIVEN);
  const skipUntil = good ? pausedUntil(health.barren, now) : pause === 0 ? 0 : now + pause;
  return { ...health, found: report.found, fresh, failures, lastError, lastRead: now, skipUntil };
}

/**
 * The health after some of its entries were checked. A round with too few checks to judge counts in the totals
 * only. One in which at least 300 were checked and none, or less than a tenth of the usual share, was alive is
 * barren: the source is paused for 2 h, 4 h ... 24 h. The first round that is not ends the pause at once.
 */
export function afterChecks(
  health: SourceHealth,
  { checked, alive }: { checked: number; alive: number },
  now: number,
): SourceHealth {
  const totals = { ...health, checked: health.checked + checked, alive: health.alive + alive };
  const share = checked === 0 ? 0 : alive / checked;
  const usual = health.yield;
  const judged = checked >= CHECKS_TO_JUDGE;
  const isBarren = judged && (alive === 0 || (usual !== null && share < usual * COLLAPSE));
  if (isBarren) {
    // The usual yield sinks meanwhile: a source that is worse for good, but not worthless, is taken back in a day or so.
    const barren = health.barren + 1;
    const sinking = usual === null ? 0 : usual + MEMORY * (share - usual);
    return { ...totals, yield: sinking, barren, skipUntil: pausedUntil(barren, now) };
  }
  if (alive === 0) return totals;
  const weight = Math.min(1, checked / CHECKS_TO_JUDGE) * MEMORY;
  const next = usual === null || usual === 0 ? share : usual + weight * (share - usual);
  return { ...totals, yield: judged || usual !== null ? next : null, barren: 0, skipUntil: 0 };
}

function pausedUntil(barren: number, now: number): number {
  return barren > 0 ? now + pauseAfter(barren) : 0;
}

function pauseAfter(rounds: number): number {
  return rounds <= 0 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(rounds - 1, 30));
}
