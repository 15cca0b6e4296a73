import type { AppError } from '../src/errors.ts';
import { systemClock } from '../src/lib/clock.ts';
import type { Failure } from './server-errors.ts';

/** `safe`: the command is idempotent, so it may be sent again if its answer was lost. */
export type Repeat = 'safe' | 'never';

/**
 * No attempt begins later: a call ends within this, the time limit of a command and one pause, which together are
 * less than 5 s.
 */
const RETRY_FOR_MS = 1500;
const MAX_TRIES = 7;
const FIRST_PAUSE_MS = 20;

interface RetryOptions {
  classify: (error: unknown) => Failure;
  /** Returns the error for a caller if the command itself is not at fault. */
  failure: (error: unknown) => AppError;
  /** Called with each failure before the next attempt. */
  onFailure?: (error: unknown) => void;
}

/** Creates a function that retries temporary failures. */
export function createRetry({
  classify,
  failure,
  onFailure,
}: RetryOptions): <T>(repeat: Repeat, attempt: () => Promise<T>) => Promise<T> {
  return async (repeat, attempt) => {
    const startedAt = performance.now();
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        onFailure?.(error);
        const kind = classify(error);
        if (kind === 'fault') throw error;
        const mayRepeat = kind === 'refused' || (kind === 'unclear' && repeat === 'safe');
        if (!mayRepeat || tries >= MAX_TRIES || performance.now() - startedAt > RETRY_FOR_MS)
          throw failure(error);
      }
      await systemClock.sleep(FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random()));
    }
  };
}
