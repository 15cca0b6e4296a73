import { rm } from 'node:fs/promises';
import type { Waiting } from './admission.ts';
import type { Queued } from './fair-queue.ts';
import type { Task } from './pool.ts';
import type { Converted, ConvertJob } from './protocol.ts';

/** A conversion that waits, and then runs in the pool. */
export interface Job extends Task, Waiting {}

export interface JobOptions {
  /** Aborts when nobody waits for the picture any more. */
  signal: AbortSignal | undefined;
  /** Told once, before the answer, what CPU time the job took, in ms, and whether it was done. */
  spent: Task['spent'];
  /** Told how the job has ended; not of a picture that was made for nobody. */
  ended: (outcome: 'converted' | 'failed') => void;
  /** Takes the job out of the queue; false where it runs already. */
  leave: () => boolean;
  /** Ends the worker that runs the job. */
  abandon: () => void;
}

/** A worker costs 0.1 s to replace, so that a job nobody waits for is ended only when it runs on. */
const ABANDONED_MS = 1000;

/** A job, and the promise that it settles: with the signal's reason when that aborts. Its output exists only where the promise resolves. */
export function createJob(
  job: ConvertJob,
  queued: Queued,
  { signal, spent, ended, leave, abandon }: JobOptions,
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
    spent,
    resolve(converted) {
      settled();
      if (signal?.aborted) return void discard(job.output);
      ended('converted');
      resolve(converted);
    },
    reject(error) {
      settled();
      ended('failed');
      void discard(job.output).then(() => reject(error));
    },
  };
  return { task, done };
}

/** Best effort: the sweep removes old temporary files as well. */
async function discard(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}
