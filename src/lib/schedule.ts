import { setImmediate } from 'node:timers/promises';

/** A job that runs repeatedly. */
export interface Repetition {
  /** Starts no more runs, tells the running one to stop, and resolves when it has ended. Idempotent. */
  stop(): Promise<void>;
}

const LONGEST_PAUSE_MS = 60_000;

/**
 * Runs `task` every `intervalMs`, the first time after one interval. Runs never overlap: if one takes longer than the
 * interval, the turns it misses are skipped. The signal aborts when the repetition is stopped. Errors go to
 * `onError`. After n failures in a row, 2^n - 1 turns are skipped, for at most a minute.
 */
export function every(
  intervalMs: number,
  task: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): Repetition {
  const stopping = new AbortController();
  let running: Promise<void> | null = null;
  let failures = 0;
  let pause = 0;

  async function run(): Promise<void> {
    try {
      await task(stopping.signal);
      failures = 0;
    } catch (error) {
      pause = Math.min(2 ** ++failures - 1, Math.floor(LONGEST_PAUSE_MS / intervalMs));
      onError(error);
    } finally {
      running = null;
    }
  }

  const timer = setInterval(() => {
    if (running) return;
    if (pause > 0) pause--;
    else running = run();
  }, intervalMs);
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/** Lets timers, sockets and requests have their turn. Long loops call it, so that nobody waits for them. */
export function breathe(): Promise<void> {
  return setImmediate();
}
