import { AppError } from '../errors.ts';

/** A lock that expires on its own, so that a holder that dies does not keep it. */
export interface Lease {
  /** Grows with every acquisition of the same name: of two writers, the one with the larger token is the younger. */
  readonly token: number;
  /** Aborts as soon as the lease may have passed to another holder. Work under the lease must stop then. */
  readonly lost: AbortSignal;
  /** Gives the lock back. Idempotent; does nothing when the lease was lost. */
  release(): Promise<void>;
}

/**
 * The right of a background job to write, taken from its lease. A store refuses it once it has seen a younger one of the
 * same name, so that a holder that was stopped for a while cannot undo what its successor did.
 */
export interface Fence {
  name: string;
  token: number;
}

/** What a store rejects with that has seen a younger fence. */
export function outdated(): AppError {
  return new AppError('conflict', 'Another copy of the server has taken this work over.');
}

export interface Locks {
  /**
   * Takes the lock `name`, or answers `null` at once when another holds it. The lease is renewed
   * by the adapter until it is released; when its holder dies it ends after `ttlMs`.
   */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
}
