import { rm } from 'node:fs/promises';
import type { Waiting } from './admission.ts';
import type { Queued } from './fair-queue.ts';
import type { Task } from './pooled-worker.ts';
import type { Converted, ConvertJob } from './protocol.ts';

/** A conversion that waits and then runs in the pool. */
export interface Job extends Task, Waiting {}

interface JobOptions {
  /** Aborts when nobody waits for the picture. */
  signal: AbortSignal | undefined;
  /** Called once, before the answer, with the CPU time of the job in ms, and whether it succeeded. */
  spent: Task['spent'];
  /** Removes the job from the queue. Returns false if it already runs. */
  leave: () => boolean;
  abandon: () => void;
}

/** Replacing a worker costs 0.1 s, so an abandoned job is killed only if it runs on for this long. */
const ABANDONED_MS = 1000;

/**
 * Creates a job and the promise that it settles: rejected with the signal's reason if that aborts. Its output exists
 * only if the promise resolves.
 */
export function createJob(
  job: ConvertJob,
  queued: Queued,
  { signal, spent, leave, abandon }: JobOptions,
): { task: Job; done: Promise<Converted> } {
  const { promise: done, resolve, reject } = Promise.withResolvers<Converted>();
  let kill: ReturnType<typeof setTimeout> | undefined;

  function onAbort(): void {
    if (!leave()) kill = setTimeout(abandon, ABANDONED_MS);
    reject(signal?.reason);
  }

  function settled(): void {
    clearTimeout(kill);
    signal?.removeEventListener('abort', onAbort);
  }

  signal?.addEventListener('abort', onAbort, { once: true });
  const task: Job = {
    ...queued,
    job,
    misses: 0,
    alone: false,
    spent,
    resolve(converted) {
      settled();
      if (signal?.aborted) return void discard(job.output);
      resolve(converted);
    },
    reject(error) {
      settled();
      void discard(job.output).then(() => reject(error));
    },
  };
  return { task, done };
}

/** Best effort, because the sweep also removes old temporary files. */
async function discard(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}
