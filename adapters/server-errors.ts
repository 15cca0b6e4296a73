import { AppError, message } from '../src/errors.ts';
import { systemClock } from '../src/lib/clock.ts';

/**
 * How a failed command ended:
 * - `refused`: nothing was done, and a retry may soon succeed
 * - `lasting`: nothing was done, and a retry will not help
 * - `unclear`: the answer was lost; the command may or may not have been done
 * - `fault`: the server rejects the command itself
 */
export type Failure = 'refused' | 'lasting' | 'unclear' | 'fault';

/** Codes of rejected certificates. */
const UNTRUSTED = /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** How long a caller should wait: connections are tried again at least once a second. */
const RETRY_AFTER_MS = 2000;

/** Reports whether the certificate of the server was rejected. */
export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED.test(codeOf(error));
}

/** Returns `unavailable` with a message for the caller. The server's own message is only logged. */
export function unavailable(cause: unknown, what = 'does not respond'): AppError {
  const said = message('The database {fault}.', { fault: `${what}. Try again in a few seconds` });
  return new AppError('unavailable', said, { cause, retryAfterMs: RETRY_AFTER_MS });
}

/** Returns a permanent `unavailable`: a wrong password or certificate, or a missing right. */
export function refused(cause: unknown): AppError {
  return new AppError(
    'unavailable',
    message('The database {fault}.', { fault: 'refuses the credentials of this server' }),
    { cause },
  );
}

/** Returns the code of the server, of the system or of the driver; empty if there is none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** `safe`: the command is idempotent, so it may be sent again if its answer was lost. */
export type Repeat = 'safe' | 'never';

const FIRST_PAUSE_MS = 20;

interface RetryOptions {
  classify: (error: unknown) => Failure;
  /** Returns the error for a caller if the command itself is not at fault. */
  failure: (error: unknown) => AppError;
  /** Called with each failure before the next attempt. */
  onFailure?: (error: unknown) => void;
}

/**
 * Creates a function that retries temporary failures. `forMs`: no attempt begins later. A call ends within this and the time limit
 * of a command, which together are less than 5 s.
 */
export function createRetry(
  forMs: number,
  { classify, failure, onFailure }: RetryOptions,
): <T>(repeat: Repeat, attempt: () => Promise<T>) => Promise<T> {
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
        const leftMs = forMs - (performance.now() - startedAt);
        if (!mayRepeat || leftMs <= 0) throw failure(error);
        await systemClock.sleep(Math.min(leftMs, FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random())));
      }
    }
  };
}
