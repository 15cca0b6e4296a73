import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';

const MOST_TRIES = 60;

/**
 * Asks again for as long as the answer is to try later: a command can wait until a large pool has been read, clients of
 * a server cannot.
 */
export async function askPatiently<T>(ask: () => Promise<T>, clock: Pick<Clock, 'sleep'>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const pauseMs = error instanceof AppError ? error.retryAfterMs : undefined;
      if (pauseMs === undefined || tries === MOST_TRIES) throw error;
      await clock.sleep(pauseMs);
    }
  }
}
