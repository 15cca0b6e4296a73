import { AppError, inEnglish, type Said } from '../errors.ts';

/** Lets a limited number of tasks run at once. The others wait in a queue. */
type Semaphore = <T>(task: () => Promise<T>) => Promise<T>;

interface SemaphoreOptions {
  maxRunning: number;
  /** How long the queue may be; by default as long as the tasks that arrive. */
  maxWaiting?: number;
  fullMessage?: Said;
}

/** The semaphore rejects with `busy` if the queue is full. */
export function createSemaphore({
  maxRunning,
  maxWaiting = Number.POSITIVE_INFINITY,
  fullMessage = inEnglish('Too much is waiting.'),
}: SemaphoreOptions): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (task) => {
    if (running >= maxRunning) {
      if (waiting.length >= maxWaiting) throw new AppError('busy', fullMessage, { retryAfterMs: 2000 });
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
