import { AppError, inEnglish } from '../errors.ts';
import type { Clock } from './clock.ts';
import type { StateStore } from './state.ts';

/** A lock that expires on its own, so that it is released if its holder dies. */
export interface Lease {
  /**
   * Increases with every acquisition of the same name: of two writers, the one with the larger token is the later
   * one.
   */
  readonly token: number;
  /** Aborts as soon as another holder may have the lock. Work under the lease must stop then. */
  readonly lost: AbortSignal;
  /** Releases the lock. Idempotent; does nothing if the lease was lost. */
  release(): Promise<void>;
}

/**
 * The right of a background job to write, derived from its lease. A store refuses it once it has seen a later one of
 * the same name, so that a holder that was suspended cannot undo what its successor did.
 */
export interface Fence {
  name: string;
  token: number;
}

/** Returns the error of a store that has seen a later fence. */
export function outdated(): AppError {
  return new AppError('conflict', 'Another copy of the server has taken over this work.');
}

/** Returns the error of a holder whose lease is not lost, and whose writes the store refuses all the same. */
export function refusedHolder(cause?: unknown): AppError {
  return new AppError(
    'unavailable',
    inEnglish('The store refuses the holder of this lock: it has seen a later one.'),
    { cause },
  );
}

export interface Locks {
  /**
   * Takes the lock `name`, or returns `null` at once if another holds it. The adapter renews the lease until it is
   * released. If its holder dies, it ends after `ttlMs`.
   */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
}

const TTL_MS = 10_000;
/** A change takes some milliseconds, and others may compete for the lock. */
const TRIES = 200;
const PAUSE_MS = 25;

/**
 * Works under a lock that others hold for moments. `demandHeld` throws once another may have it, and else returns the
 * token of the lease: to be called before each write. Rejects with `unavailable` if it is not free within 5 s.
 */
export async function holding<T>(
  { locks, name, clock }: { locks: Locks; name: string; clock: Pick<Clock, 'sleep'> },
  work: (demandHeld: () => number) => Promise<T>,
): Promise<T> {
  for (let tries = 0; tries < TRIES; tries++) {
    const lease = await locks.acquire(name, TTL_MS);
    if (lease === null) {
      await clock.sleep(PAUSE_MS);
      continue;
    }
    const demandHeld = () => {
      if (lease.lost.aborted) throw tooBusy();
      return lease.token;
    };
    return work(demandHeld).finally(() => lease.release());
  }
  throw tooBusy();
}

/**
 * Writes a value under a lock; `token`: of its lease. Rejects if a later holder has written it: a change that was given up
 * may come late, and would take back what others have changed meanwhile.
 */
export async function writeHeld(
  state: Pick<StateStore, 'setFenced'>,
  key: string,
  value: unknown,
  token: number,
): Promise<void> {
  if (!(await state.setFenced(key, JSON.stringify(value), token))) throw refusedHolder();
}

function tooBusy(): AppError {
  return new AppError('unavailable', 'Too many decisions at once; try again in a moment.', {
    retryAfterMs: 5000,
  });
}
