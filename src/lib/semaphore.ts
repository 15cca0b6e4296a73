import { AppError, type Said } from '../errors.ts';

/** Lets a limited number of tasks run at once. The others wait in a queue. */
type Semaphore = <T>(task: () => Promise<T>) => Promise<T>;

/** `limit`: how many may wait, and why others are rejected with `busy`. Default: any number may. */
export function createSemaphore(most: number, limit?: { maxWaiting: number; message: Said }): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (task) => {
    if (running >= most) {
      if (limit && waiting.length >= limit.maxWaiting)
        throw new AppError('busy', limit.message, { retryAfterMs: 2000 });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running++;
    }
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
