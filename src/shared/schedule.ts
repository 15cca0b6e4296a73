import { setImmediate } from 'node:timers/promises';

/** A job that runs again and again. */
export interface Repetition {
  /** Starts no more runs, tells the running one to stop, and resolves when it has ended. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Runs `task` every `intervalMs`, the first time after one interval. A run that lasts longer than the interval
 * is never overlapped: the turns that fall into it are left out. The signal aborts when the repetition is stopped;
 * what a run throws goes to `onError` and the next turn comes all the same.
 */
export function every(
  intervalMs: number,
  task: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): Repetition {
  const stopping = new AbortController();
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    if (running) return;
    running = task(stopping.signal)
      .catch(onError)
      .finally(() => {
        running = null;
      });
  }, intervalMs);
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/** Lets timers, sockets and requests have their turn; long loops call it so that no one waits for them. */
export function breathe(): Promise<void> {
  return setImmediate();
}
