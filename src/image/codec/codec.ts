import { rm } from 'node:fs/promises';
import { resolve as absolute } from 'node:path';
import { AppError } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import type { Environment } from './child.ts';
import { type Header, readHeader } from './header.ts';
import { checkLimits } from './limits.ts';
import { createPool, type PoolCounts, type Task } from './pool.ts';
import type { Converted, ConvertJob } from './protocol.ts';

export type { Converted, ConvertJob } from './protocol.ts';

/** AdmissionQueue uploads into what is stored, in processes of its own that can be killed. */
export interface Codec {
  /**
   * Converts a file. Rejects with `AppError`: `not_an_image`, `undecodable_image`, `image_limit`,
   * `conversion_timeout`, `storage_full`, `busy` (the queue is full) or `unavailable` (no worker can run); with the
   * signal's reason when it aborts. `job.output` exists only when the promise resolves.
   */
  convert(job: ConvertJob, signal?: AbortSignal): Promise<Converted>;
  /** Throws `busy` or `unavailable` where a conversion would be refused now, so that no body is taken in for nothing. */
  admit(): void;
  stats(): CodecStats;
  /** Ends all workers at once; what still runs or waits is rejected with `unavailable`. */
  close(): Promise<void>;
}

export interface CodecStats extends PoolCounts {
  queued: number;
  queuedPixels: number;
  converted: number;
  failed: number;
  refusedBusy: number;
}

export interface CodecOptions {
  /** Program and arguments that start this program, with absolute paths; `convert-worker` is added. */
  command: readonly string[];
  /** The server's environment: PATH, HOME and the like are passed on to the workers, and nothing else. Empty by default. */
  env?: Environment;
  /** Conversions at once, a process each; the number of cores serves best. */
  workers: number;
  timeoutMs: number;
  /** Width x height x frames of an input. */
  maxPixels: number;
  maxFrames: number;
  /** Jobs that may wait; 64 a worker by default. */
  maxQueue?: number;
  /** Pixels that may wait; 8 times `maxPixels` by default. */
  maxQueuedPixels?: number;
  /**
   * Longest wait, as it is expected, of a job that is taken; 30 s by default, so that with the longest conversion behind it
   * the answer comes within the minute that proxies in front commonly wait.
   */
  maxWaitMs?: number;
  /** Resident memory of one worker; 2 GiB by default. */
  memoryLimitBytes?: number;
  /** Starts the workers at once, not with the first job. */
  eager?: boolean;
  log: Log;
  /** Milliseconds; only differences count. */
  now: () => number;
}

interface Waiting extends Task {
  pixels: number;
  startedAt: number;
}

/** Where the header does not tell: the size of a phone's photo. */
const ASSUMED_PIXELS = 12_000_000;
/** A worker costs 0.1 s to replace, so that a job nobody waits for is ended only when it runs on. */
const ABANDONED_MS = 1000;

/** Makes the codec. Nothing is started before the first conversion, unless `eager`. */
export function createCodec(options: CodecOptions): Codec {
  const { workers, maxPixels, maxFrames, now } = options;
  const limits = { maxPixels, maxFrames };
  const maxQueue = options.maxQueue ?? 64 * workers;
  const maxQueuedPixels = options.maxQueuedPixels ?? 8 * maxPixels;
  const maxWaitMs = options.maxWaitMs ?? 30_000;
  const queue: Waiting[] = [];
  const totals = { converted: 0, failed: 0, refusedBusy: 0 };
  let queuedPixels = 0;
  /** Smoothed time of one conversion, for the estimate of `busy`. */
  let usualMs = 500;
  let closed = false;

  const pool = createPool({
    command: options.command,
    env: options.env ?? {},
    workers,
    timeoutMs: options.timeoutMs,
    memoryLimitBytes: options.memoryLimitBytes ?? 2 * 1024 ** 3,
    limits,
    log: options.log,
    next() {
      const task = queue.shift();
      if (!task) return undefined;
      queuedPixels -= task.pixels;
      task.startedAt = now();
      return task;
    },
    putBack(task) {
      queue.unshift(task as Waiting);
      queuedPixels += (task as Waiting).pixels;
    },
    onUnable: (retryAfterMs) => rejectAll(unable(retryAfterMs)),
  });
  if (options.eager) pool.wake();

  function rejectAll(error: AppError): void {
    queuedPixels = 0;
    for (const task of queue.splice(0)) task.reject(error);
  }

  function admit(pixels: number): void {
    if (closed) throw new AppError('unavailable', 'The server is stopping.');
    const unableForMs = pool.unableForMs();
    if (unableForMs > 0) throw unable(unableForMs);
    const waitMs = (usualMs * queue.length) / workers;
    // A picture above the bound on its own still has its turn when nothing waits.
    const tooLarge = queue.length > 0 && queuedPixels + pixels > maxQueuedPixels;
    if (queue.length < maxQueue && waitMs <= maxWaitMs && !tooLarge) return;
    totals.refusedBusy++;
    const retryAfterMs = Math.min(60_000, Math.max(1000, waitMs));
    throw new AppError('busy', 'Too many images are being converted; try again later.', { retryAfterMs });
  }

  async function convert(job: ConvertJob, signal?: AbortSignal): Promise<Converted> {
    signal?.throwIfAborted();
    const header = await readHeader(job.input);
    if (!header) {
      throw new AppError('not_an_image', 'The file is no JPEG, PNG, WebP, GIF, AVIF or TIFF image.');
    }
    const pixels = pixelsOf(header);
    if (header.size) checkLimits({ ...header.size, frames: 1 }, limits);
    signal?.throwIfAborted();
    admit(pixels);
    const paths = { input: absolute(job.input), output: absolute(job.output) };
    return enqueue({ ...job, ...paths }, pixels, signal);
  }

  function enqueue(job: ConvertJob, pixels: number, signal?: AbortSignal): Promise<Converted> {
    return new Promise((resolve, reject) => {
      let kill: ReturnType<typeof setTimeout> | undefined;
      const leave = () => {
        clearTimeout(kill);
        signal?.removeEventListener('abort', onAbort);
      };
      const task: Waiting = {
        job,
        pixels,
        misses: 0,
        startedAt: 0,
        resolve(converted) {
          leave();
          if (signal?.aborted) return void discard(job.output);
          totals.converted++;
          usualMs += (now() - task.startedAt - usualMs) / 16;
          resolve(converted);
        },
        reject(error) {
          leave();
          totals.failed++;
          void discard(job.output).then(() => reject(error));
        },
      };
      const onAbort = () => {
        const place = queue.indexOf(task);
        if (place >= 0) {
          queue.splice(place, 1);
          queuedPixels -= pixels;
        } else {
          kill = setTimeout(() => pool.abandon(task), ABANDONED_MS);
        }
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      queue.push(task);
      queuedPixels += pixels;
      pool.wake();
    });
  }

  return {
    convert,
    admit: () => admit(0),
    stats: () => ({ ...pool.counts(), queued: queue.length, queuedPixels, ...totals }),
    async close() {
      closed = true;
      rejectAll(new AppError('unavailable', 'The server is stopping.'));
      await pool.close();
    },
  };
}

function pixelsOf({ size }: Header): number {
  return size ? size.width * size.height : ASSUMED_PIXELS;
}

function unable(retryAfterMs: number): AppError {
  return new AppError('unavailable', 'Images cannot be converted at the moment.', { retryAfterMs });
}

/** Best effort: the sweep removes old temporary files as well. */
async function discard(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}
