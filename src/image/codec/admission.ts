import { AppError } from '../../errors.ts';
import { createFairQueue, type Queued } from './fair-queue.ts';
import { mayRunBeside } from './seats.ts';

/** A job that someone waits for. */
export interface Waiting extends Queued {
  reject(error: Error): void;
}

export interface AdmissionOptions {
  /** Jobs that run at once. */
  workers: number;
  /** Jobs that may wait. */
  maxQueue: number;
  /** Jobs of one client that may wait. */
  maxClientQueue: number;
  /** Longest wait, as it is expected, of a job that is taken. */
  maxWaitMs: number;
  /** Milliseconds; only differences count. */
  now: () => number;
}

/** Jobs that wait and jobs that run, and whether one more is worth its wait. */
export interface Admission<T extends Waiting> {
  /** Throws `busy` where one more job of the client would wait for too long. */
  demandRoom(client: string, price: number): void;
  push(job: T): void;
  /** Where too many wait, rejects the last one of who has the most waiting. */
  relieve(): void;
  /** Takes the job whose turn it is beside those that run. */
  take(beside: readonly T[]): T | undefined;
  /** Puts a job that was taken back to the front. */
  putBack(job: T): void;
  /** Takes a job out of turn; false if it does not wait. */
  remove(job: T): boolean;
  /** A job that was taken has ended, and took that much CPU time, which its client pays. */
  ended(job: T, ms: number): void;
  rejectAll(error: AppError): void;
  counts(): { queued: number; queuedMs: number; waitMs: number; refusedBusy: number };
}

/** How much longer jobs take than their CPU time: other programs want the cores as well. Smoothed over so many jobs. */
const STRETCH_JOBS = 16;
const MOST_STRETCH = 10;

export function createAdmission<T extends Waiting>(options: AdmissionOptions): Admission<T> {
  const { workers, maxQueue, maxClientQueue, maxWaitMs, now } = options;
  const queue = createFairQueue<T>();
  const running = new Map<T, number>();
  let stretch = 1;
  let refusedBusy = 0;

  /** How long one more job of the client would wait. */
  function waitMs(client: string, price: number): number {
    const left = [...running].map(([task, since]) => Math.max(0, task.price * stretch - (now() - since)));
    const soonest = mayRunBeside(price, [...running.keys()], workers) ? 0 : Math.min(...left);
    return soonest + (queue.ahead(client, price) * stretch) / workers;
  }

  function busy(wait: number): AppError {
    refusedBusy++;
    // By then a place is free, or the wait is short enough.
    const retryAfterMs = Math.max(1000, wait - maxWaitMs, wait / maxClientQueue);
    const seconds = Math.max(1, Math.ceil(wait / 1000));
    return new AppError(
      'busy',
      `Too many of your images are waiting to be converted; another one would wait ${seconds} s. Try again later.`,
      { retryAfterMs },
    );
  }

  return {
    demandRoom(client, price) {
      const wait = waitMs(client, price);
      if (queue.count(client) >= maxClientQueue || wait > maxWaitMs) throw busy(wait);
    },
    push: queue.push,
    relieve() {
      const surplus = queue.count() > maxQueue ? queue.surplus() : undefined;
      if (surplus && queue.remove(surplus)) surplus.reject(busy(waitMs(surplus.client, surplus.price)));
    },
    take(beside) {
      const job = queue.take(({ price }) => mayRunBeside(price, beside, workers));
      if (job) running.set(job, now());
      return job;
    },
    putBack(job) {
      running.delete(job);
      queue.putBack(job);
    },
    remove: queue.remove,
    ended(job, ms) {
      const since = running.get(job);
      running.delete(job);
      queue.charge(job.client, ms - job.price);
      if (since === undefined || ms <= 0) return;
      const seen = Math.min(MOST_STRETCH, Math.max(1, (now() - since) / ms));
      stretch += (seen - stretch) / STRETCH_JOBS;
    },
    rejectAll(error) {
      for (const job of queue.drain()) job.reject(error);
    },
    counts: () => ({ queued: queue.count(), queuedMs: queue.price(), waitMs: waitMs('', 0), refusedBusy }),
  };
}
