import { AppError, inEnglish } from '../../errors.ts';
import { type Finding, warn } from '../../findings/finding.ts';
import type { Locks } from '../../lib/locks.ts';
import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import { isStorageFull } from '../../lib/storage-full.ts';
import { SKEW_MS } from '../../lib/stored-time.ts';
import type { ImageLimits } from '../upload/quota.ts';

/** How often the server notes that it runs, in ms. */
export const NOTE_INTERVAL_MS = 60_000;
/** A longer time between two notes is time without service. */
const MOST_STEP_MS = 10 * 60_000;
/**
 * A longer pause, or a longer step back, is a doubt, which ends when the server has run for as long without another
 * one: time for the operator to see it.
 */
const DOUBT_MS = 24 * 3_600_000;
/** No clock that is right was ever before this. */
const EARLIEST = Date.UTC(2026, 0);
/** Two pauses become one beyond this number, some 30 KB. */
const MOST_PAUSES = 1000;

/** State key: the account. */
export const SERVICE_STATE = 'image-service-time';
const KEPT =
  'Idle and expired images are kept until it has run for a day; if the clock is right, picpool cleanup --confirm ends this.';
const LOCK = 'image-service-time';
const LOCK_TTL_MS = 10_000;

/** When the server ran. Times are ms since 1970, by the clock of the copy that noted them. */
interface Account {
  /** When it was last known to run. */
  at: number;
  /** When it did not run, oldest first: from, to. */
  pauses: [number, number][];
  /** A time that does not fit to the one before, and since when nothing else did not fit. */
  doubt: { since: number; reason: string } | null;
}

interface ServiceTimeOptions {
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  now: () => number;
  log: Log;
  /** Pauses are remembered for the longer one. */
  limits: Pick<ImageLimits, 'retentionMs' | 'strayRetentionMs'>;
}

export function createServiceTime(options: ServiceTimeOptions) {
  const { state, locks, limits, now, log } = options;
  const rememberMs = Math.max(limits.retentionMs, limits.strayRetentionMs);
  let noted = Number.NEGATIVE_INFINITY;
  /** When a copy was last known to run, whichever clock was right. */
  let latest = 0;
  let stamped = 0;
  /** How far the clock was behind the last note, whose clock may be that of another copy. */
  let behindMs = 0;
  /** What could not be stored, perhaps because the disk is full: this process ran all the same. */
  let unstored: Account | null = null;

  async function read(): Promise<Account | null> {
    const text = await state.get(SERVICE_STATE);
    const stored = text === null ? null : (JSON.parse(text) as Account);
    return unstored !== null && unstored.at > (stored?.at ?? 0) ? unstored : stored;
  }

  /** Returns the account as it is now, stored or not. */
  const current = async () => carryOn(await read(), now());

  async function save(change: (account: Account) => Account): Promise<boolean> {
    const lease = await locks.acquire(LOCK, LOCK_TTL_MS);
    if (!lease) return false;
    try {
      const known = await read();
      const account = change(carryOn(known, now()));
      if (account.doubt && account.doubt.since !== known?.doubt?.since) {
        log('error', 'idle and expired images are not removed', { reason: account.doubt.reason });
      }
      noted = account.at;
      behindMs = (known?.at ?? 0) - account.at;
      const before = Math.max(latest, known?.at ?? 0);
      latest = before - account.at > DOUBT_MS ? account.at : Math.max(before, account.at);
      unstored = account;
      const done = await state.setFenced(SERVICE_STATE, JSON.stringify(account), lease.token);
      unstored = null;
      if (!done) log('error', 'the time of service is not noted: the store has seen a later copy');
      return done;
    } finally {
      await lease.release();
    }
  }

  return {
    /** Notes that the server runs now. */
    async note(): Promise<void> {
      // If another copy holds the lock, it does the same.
      await save((account) => ({ ...account, pauses: shortened(account, rememberMs) }));
    },
    /** Returns the time, ms since 1970, since which the server has served for `ms`. */
    servedFor: async (ms: number) => cutoff(await current(), ms),
    /**
     * Returns why nothing is removed by its age at the moment, neither idle nor expired images, with the cure, as a
     * sentence; `null` if it is.
     */
    async doubt(): Promise<string | null> {
      const { doubt } = await current();
      if (doubt === null) return null;
      return `${doubt.reason} ${KEPT}`;
    },
    /** Returns that the clock was never set, or that those of two copies differ, for less than a doubt: an operator finds out which is wrong. */
    skew(): Finding[] {
      if (now() < EARLIEST) return [warn('The clock is years behind: new pictures get wrong times.')];
      if (behindMs <= SKEW_MS || behindMs > DOUBT_MS) return [];
      return [
        warn(`The clock of this copy is ${formatDuration(behindMs)} behind another's, or was set back.`),
      ];
    },
    /**
     * Returns the time by which what has expired may be removed, ms since 1970; 0 while the time is in doubt. A clock
     * that jumps afterwards does not change it.
     */
    async expiresBy(): Promise<number> {
      const { at, doubt } = await current();
      return doubt === null ? at : 0;
    },
    /** Ends the doubt: the operator says that the clock is right. The pause stays a pause. */
    async settle(): Promise<void> {
      const isSaved = save((account) => ({ ...account, doubt: null })).catch((cause) => {
        // What is removed then makes room.
        if (isStorageFull(cause)) return true;
        throw cause;
      });
      if (await isSaved) return;
      throw new AppError('conflict', inEnglish('Another copy is noting the time. Try again.'), {
        retryAfterMs: 1000,
      });
    },
    /**
     * Returns the time for what is stored now: later than that of what was stored before, if the clock was set back
     * since, or than the server was last known to run.
     */
    stamp(): number {
      const floor = Math.max(noted, stamped);
      // A clock that was ahead by more is not followed once it is right.
      stamped = now() < floor && floor - now() <= DOUBT_MS ? floor + 1 : now();
      return stamped;
    },
    /** Returns the time of a view, which counts while the clock is behind, too: rather too late by up to a day. */
    viewed(): number {
      const floor = Math.max(latest, stamped);
      return floor - now() <= DOUBT_MS ? Math.max(floor, now()) : now();
    },
  };
}

/**
 * Counts the time in which any copy of the server ran, because only then could images be viewed. A clock that jumps
 * looks like a pause, or shortens the pauses that it made before: whichever way it was wrong, images are rather kept
 * for too long.
 */
export type ServiceTime = ReturnType<typeof createServiceTime>;

/** Continues the account at the time `now`. */
function carryOn(known: Account | null, now: number): Account {
  // Nothing is known of the time before the first note.
  if (known === null) return { at: now, pauses: [[0, now]], doubt: null };
  const stepMs = now - known.at;
  // What was noted for the future is not true.
  const pauses = known.pauses.flatMap(([from, to]): [number, number][] =>
    from < now ? [[from, Math.min(to, now)]] : [],
  );
  const because = (reason: string): Account => ({ at: now, pauses, doubt: { since: now, reason } });
  if (stepMs < -DOUBT_MS) return because(`The clock was set back by ${formatDuration(-stepMs)}.`);
  if (stepMs > MOST_STEP_MS) pauses.push([known.at, now]);
  if (stepMs > DOUBT_MS) {
    return because(`The server did not run for ${formatDuration(stepMs)}, or its clock was changed.`);
  }
  const isOver = known.doubt !== null && cutoff({ at: now, pauses }, DOUBT_MS) >= known.doubt.since;
  return { at: now, pauses, doubt: isOver ? null : known.doubt };
}

function formatDuration(ms: number): string {
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  const hours = Math.round(ms / 3_600_000);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** Returns the time since which the server has served for `ms`. */
function cutoff({ at, pauses }: Pick<Account, 'at' | 'pauses'>, ms: number): number {
  let [end, left] = [at, ms];
  for (const [from, to] of pauses.toReversed()) {
    if (end - to >= left) break;
    left -= end - to;
    end = from;
  }
  return end - left;
}

/** Returns the pauses without those that no longer matter. Beyond the maximum, the oldest become one. */
function shortened(account: Account, rememberMs: number): [number, number][] {
  const before = cutoff(account, rememberMs);
  const pauses = account.pauses.filter(([, to]) => to > before);
  const surplus = pauses.splice(0, Math.max(1, pauses.length - MOST_PAUSES + 1));
  const [first, last] = [surplus[0], surplus.at(-1)];
  return first && last ? [[first[0], last[1]], ...pauses] : pauses;
}
