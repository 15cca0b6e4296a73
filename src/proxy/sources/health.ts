import { plannedFor } from '../../lib/stored-time.ts';
import { NOTHING_USABLE, type SourceReport } from './source.ts';

/** The state of one source. Times are ms since 1970, `null` if it never happened. */
export interface SourceHealth {
  name: string;
  /** Usable entries in the last reading. */
  found: number;
  /** Of these, endpoints that neither the pool nor an earlier source had. */
  fresh: number;
  /** Totals over all time. */
  alive: number;
  checked: number;
  /** Decayed share of checked entries that were alive, 0 to 1; `null` before enough were checked. */
  yield: number | null;
  /** Bad readings in a row. */
  failures: number;
  /** Rounds in a row in which almost none of its entries were alive. */
  barren: number;
  lastError: string | null;
  lastRead: number | null;
  /** The source is not read before this time; 0 means it is read at every refresh. */
  skipUntil: number;
}

const HOUR_MS = 3_600_000;
/** The first pause skips one hourly refresh. Each further one is twice as long. */
const FIRST_PAUSE_MS = 2 * HOUR_MS;
/** A source that is gone costs one request a day, and one that returns is missed for a day at most. */
const LONGEST_PAUSE_MS = 24 * HOUR_MS;
/** A single bad reading has no consequence. */
const FAILURES_FORGIVEN = 1;
/**
 * Number of checks needed to judge a yield. Under 2 % of a raw list works, and 300 entries of such a list
 * contain none alive once in 400 rounds (0.98^300).
 */
const CHECKS_TO_JUDGE = 300;
/** A yield below this share of the source's usual yield is a collapse. */
const COLLAPSE = 0.1;
/** One judgement moves the yield by at most this share, so about five rounds determine it. */
const MEMORY = 0.2;

/** Returns the state of a source before its first reading. */
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

/** Reports whether the source should be read at `now`. */
export function isDue(health: SourceHealth, now: number): boolean {
  return now >= plannedFor(health.skipUntil, now, LONGEST_PAUSE_MS);
}

/**
 * Returns the health after a reading in which `fresh` entries were new. A reading that found something is
 * good even if it ended in an error (a list over the size limit is still used). The first good one ends all
 * pauses that bad readings caused; `afterChecks` ends those of a barren source.
 */
export function afterRead(
  health: SourceHealth,
  report: Pick<SourceReport, 'found' | 'paid' | 'error'>,
  now: number,
  fresh = 0,
): SourceHealth {
  const good = report.found + (report.paid ?? 0) > 0;
  const failures = good ? 0 : health.failures + 1;
  const lastError = report.error ?? (good ? null : NOTHING_USABLE);
  const pause = pauseAfter(failures - FAILURES_FORGIVEN);
  const skipUntil = good ? pausedUntil(health.barren, now) : pause === 0 ? 0 : now + pause;
  return { ...health, found: report.found, fresh, failures, lastError, lastRead: now, skipUntil };
}

/**
 * Returns the health after some of its entries were checked. A round with too few checks to judge only counts in the
 * totals. A round is barren if at least 300 were checked and none, or less than a tenth of the usual share, was
 * alive: the source is then paused for 2 h, 4 h ... 24 h. The first round that is not barren ends the pause at once.
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
    // The usual yield sinks meanwhile, so that a source that got permanently worse, but not worthless, is
    // used again after a day or so.
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
