import { AppError, message } from '../../errors.ts';
import { createFairQueue, type Queued } from './fair-queue.ts';

/** A job is cheap up to this CPU time in ms: a screenshot, a small photo, a version of one. */
const CHEAP_MS = 250;
/** A job is heavy above this CPU time in ms, which is far more than a phone's photo takes. */
const HEAVY_MS = 4000;

/** A job that someone waits for. */
export interface Waiting extends Queued {
  /** True if it must run with nothing beside it. */
  alone: boolean;
  reject(error: Error): void;
}

export interface AdmissionOptions {
  /**
   * Concurrent conversions, each in its own process; the number of cores works best. One more process is kept for
   * cheap jobs.
   */
  workers: number;
  /** Maximum number of waiting jobs. Default: 64 a worker. */
  maxQueue?: number;
  /** Maximum number of waiting jobs of one client. Default: a quarter of all. */
  maxClientQueue?: number;
  /**
   * Maximum expected wait of an accepted job. Default: 30 s, so that even behind the longest conversion the answer
   * comes within the minute that reverse proxies commonly wait.
   */
  maxWaitMs?: number;
  /** Milliseconds; only differences count. */
  now: () => number;
}

/**
 * Smooths, over this many jobs, how much longer jobs take than their CPU time because other programs use the cores.
 */
const STRETCH_JOBS = 16;
const MOST_STRETCH = 10;

/** The waiting and running jobs. Decides whether one more job is worth its wait. */
export function createAdmission<T extends Waiting>(options: AdmissionOptions) {
  const { workers, maxQueue = 64 * workers, maxWaitMs = 30_000, now } = options;
  const { maxClientQueue = Math.ceil(maxQueue / 4) } = options;
  const queue = createFairQueue<T>();
  const running = new Map<T, number>();
  /** Jobs that must run alone. They go before all others, which would otherwise always run beside them. */
  const lone: T[] = [];
  let stretch = 1;
  let refusedBusy = 0;

  /** Returns how long one more job of the client would wait. */
  function waitMs(client: string, price: number): number {
    const left = [...running].map(([task, since]) => Math.max(0, task.price * stretch - (now() - since)));
    const soonest = mayRunBeside(price, [...running.keys()], workers) ? 0 : Math.min(...left);
    return soonest + (queue.ahead(client, price) * stretch) / workers;
  }

  function busy(wait: number): AppError {
    refusedBusy++;
    // By then there is a free place, or the wait is short enough.
    const retryAfterMs = Math.max(1000, wait - maxWaitMs, wait / maxClientQueue);
    const seconds = Math.max(1, Math.ceil(wait / 1000));
    return new AppError(
      'busy',
      message(
        'Too many of your images are waiting to be converted; another one would wait {seconds} s. Try again later.',
        { seconds },
      ),
      { retryAfterMs },
    );
  }

  return {
    /** Throws `busy` if one more job of the client would wait too long. */
    demandRoom(client: string, price: number): void {
      const wait = waitMs(client, price);
      if (queue.count(client) >= maxClientQueue || wait > maxWaitMs) throw busy(wait);
    },
    push: queue.push,
    /** If too many jobs wait, rejects the last one of the client with the most waiting. */
    relieve(): void {
      const surplus = queue.count() > maxQueue ? queue.surplus() : undefined;
      if (surplus && queue.remove(surplus)) surplus.reject(busy(waitMs(surplus.client, surplus.price)));
    },
    /** Takes the next job that may run beside the running ones. */
    take(beside: readonly T[]): T | undefined {
      if (beside.some(({ alone }) => alone) || (lone.length > 0 && beside.length > 0)) return undefined;
      const job = lone.shift() ?? queue.take(({ price }) => mayRunBeside(price, beside, workers));
      if (job) running.set(job, now());
      return job;
    },
    /** Puts a job back to the front. */
    putBack(job: T): void {
      running.delete(job);
      if (job.alone) lone.push(job);
      else queue.putBack(job);
    },
    /** Removes a waiting job. Returns false if it does not wait. */
    remove(job: T): boolean {
      const place = lone.indexOf(job);
      if (place >= 0) lone.splice(place, 1);
      return place >= 0 || queue.remove(job);
    },
    /** Records that a job has ended and how much CPU time it used, which its client pays. */
    ended(job: T, ms: number): void {
      const since = running.get(job);
      running.delete(job);
      queue.charge(job.client, ms - job.price);
      if (since === undefined || ms <= 0) return;
      const seen = Math.min(MOST_STRETCH, Math.max(1, (now() - since) / ms));
      stretch += (seen - stretch) / STRETCH_JOBS;
    },
    rejectAll(error: AppError): void {
      for (const job of [...lone.splice(0), ...queue.drain()]) job.reject(error);
    },
    counts: () => ({
      queued: lone.length + queue.count(),
      queuedMs: queue.price(),
      waitMs: waitMs('', 0),
      refusedBusy,
    }),
  };
}

/**
 * Decides whether a job of that price may begin beside the running ones. The last of `workers + 1` seats is for cheap
 * jobs only, so that these never wait for long ones. Of the others, heavy jobs leave one to the rest.
 */
export function mayRunBeside(
  price: number,
  running: readonly Pick<Queued, 'price'>[],
  workers: number,
): boolean {
  const above = (ms: number) => running.filter((other) => other.price > ms).length;
  if (running.length > workers) return false;
  if (price > CHEAP_MS && above(CHEAP_MS) >= workers) return false;
  return price <= HEAVY_MS || above(HEAVY_MS) < Math.max(1, workers - 1);
}
