import { resolve as absolute } from 'node:path';
import { AppError } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import { createAdmission } from './admission.ts';
import type { Budget } from './budget.ts';
import type { Environment } from './environment.ts';
import type { Purpose, Queued } from './fair-queue.ts';
import { acceptedWords, formatName } from './formats.ts';
import { countFrames } from './frames.ts';
import { readHeader } from './header.ts';
import { createJob, type Job } from './job.ts';
import { checkLimits } from './limits.ts';
import { createPool, type PoolCounts } from './pool.ts';
import { createPrices, type Estimate } from './price.ts';
import type { Converted, ConvertJob, InputLimits } from './protocol.ts';

export type { Converted, ConvertJob } from './protocol.ts';

/** Whose conversion it is. */
export interface Order {
  /** Whose budget it uses: the client's network, or the name of its token. Clients take turns. */
  client: string;
  /** Uploads go before versions. An upload by default. */
  purpose?: Purpose;
  /** Aborts when nobody waits for the picture any more. */
  signal?: AbortSignal;
}

/** Converts pictures in processes of their own, which can be killed. */
export interface Codec {
  /**
   * Converts a file. Rejects with `AppError`: `not_an_image`, `undecodable_image`, `image_limit`, `conversion_timeout`,
   * `storage_full`, `rate_limited` (the client's budget is used up), `busy` (too much of the client waits) or `unavailable`
   * (no worker can run); with the signal's reason when it aborts. `job.output` exists only when the promise resolves.
   */
  convert(job: ConvertJob, order: Order): Promise<Converted>;
  /**
   * Throws `busy` or `unavailable` where a conversion of that client would be refused now, so that no body is taken in for
   * nothing.
   */
  admit(client: string): void;
  stats(): CodecStats;
  /** Starts the workers; resolves when one can take work. Rejects with `unavailable` if none can be started. */
  ready(): Promise<void>;
  /** Ends all workers at once; what still runs or waits is rejected with `unavailable`. */
  close(): Promise<void>;
}

export interface CodecStats extends PoolCounts {
  queued: number;
  /** CPU time that the waiting jobs are expected to take, in ms. */
  queuedMs: number;
  /** How long the conversion of a client that has nothing waiting would wait, in ms. */
  waitMs: number;
  converted: number;
  failed: number;
  refusedBusy: number;
}

export interface CodecOptions {
  /** Program and arguments that start this program, with absolute paths; `convert-worker` is added. */
  command: readonly string[];
  /** The server's environment: PATH, HOME and the like are passed on to the workers, and nothing else. Empty by default. */
  env?: Environment;
  /** Conversions at once, a process each; the number of cores serves best. One more process is kept for cheap jobs. */
  workers: number;
  timeoutMs: number;
  /** Width x height x frames of an input. */
  maxPixels: number;
  maxFrames: number;
  /** HEIC is accepted when not given. */
  heic?: boolean;
  /** Jobs that may wait; 64 a worker by default. */
  maxQueue?: number;
  /** Jobs of one client that may wait; a quarter of all by default. */
  maxClientQueue?: number;
  /**
   * Longest wait, as it is expected, of a job that is taken; 30 s by default, so that with the longest conversion behind it
   * the answer comes within the minute that proxies in front commonly wait.
   */
  maxWaitMs?: number;
  /** Resident memory of one worker; 2 GiB by default. */
  memoryLimitBytes?: number;
  /** CPU time of each client; without it nobody is limited. */
  budget?: Budget;
  /** Folder for the folders of the workers, best on the file system of inputs and outputs; made if it is missing. */
  folder: string;
  /**
   * Whether workers run in a jail; `require`: only in a whole one. In a jail a worker serves one client and is then
   * replaced. `off` by default.
   */
  sandbox?: 'require' | 'on' | 'off';
  log: Log;
  /** Milliseconds; only differences count. */
  now: () => number;
}

/** Makes the codec. Nothing is started before the first conversion. */
export function createCodec(options: CodecOptions): Codec {
  const { workers, maxPixels, maxFrames, heic = true, now, budget } = options;
  const limits = { maxPixels, maxFrames, heic };
  const jail = options.sandbox && options.sandbox !== 'off' ? { must: options.sandbox === 'require' } : null;
  const maxQueue = options.maxQueue ?? 64 * workers;
  const admission = createAdmission<Job>({
    workers,
    maxQueue,
    maxClientQueue: options.maxClientQueue ?? Math.ceil(maxQueue / 4),
    maxWaitMs: options.maxWaitMs ?? 30_000,
    now,
  });
  const prices = createPrices();
  const totals = { converted: 0, failed: 0 };
  const awaited = Promise.withResolvers<void>();
  awaited.promise.catch(() => {});
  let closed = false;

  const pool = createPool<Job>({
    command: options.command,
    env: options.env ?? {},
    // One is kept for cheap jobs, and one is on standby for the next client.
    processes: workers + (jail ? 2 : 1),
    folder: options.folder,
    jail,
    timeoutMs: options.timeoutMs,
    memoryLimitBytes: options.memoryLimitBytes ?? 2 * 1024 ** 3,
    limits,
    log: options.log,
    next: admission.take,
    putBack: admission.putBack,
    onReady: () => awaited.resolve(),
    onUnable(retryAfterMs) {
      awaited.reject(unable(retryAfterMs));
      admission.rejectAll(unable(retryAfterMs));
    },
  });

  function admit(client: string, price: number): void {
    if (closed) throw new AppError('unavailable', 'The server is stopping.');
    const unableForMs = pool.unableForMs();
    if (unableForMs > 0) throw unable(unableForMs);
    admission.demandRoom(client, price);
  }

  async function convert(job: ConvertJob, { client, purpose = 'upload', signal }: Order): Promise<Converted> {
    signal?.throwIfAborted();
    const estimate = await examine(job, limits);
    const price = prices.of(estimate);
    signal?.throwIfAborted();
    admit(client, price);
    await budget?.take(client, price);
    const paths = { input: absolute(job.input), output: absolute(job.output) };
    return enqueue({ ...job, ...paths }, estimate, { client, purpose, price }, signal);
  }

  /** Writes down what a job took, which is what its client pays in the end. */
  function account(task: Job, estimate: Estimate, ms: number, done: boolean): void {
    // Files that fail at once say nothing of what the others cost.
    if (done || ms > task.price) prices.learn(estimate, ms);
    admission.ended(task, ms);
    void budget?.charge(task.client, ms - task.price);
  }

  function enqueue(
    job: ConvertJob,
    estimate: Estimate,
    queued: Queued,
    signal?: AbortSignal,
  ): Promise<Converted> {
    const { task, done } = createJob(job, queued, {
      signal,
      spent: (ms, done) => account(task, estimate, ms, done),
      ended: (outcome) => totals[outcome]++,
      leave: () => admission.remove(task),
      abandon: () => pool.abandon(task),
    });
    admission.push(task);
    pool.wake();
    admission.relieve();
    return done;
  }

  return {
    convert,
    admit: (client) => admit(client, 0),
    stats: () => ({ ...pool.counts(), ...admission.counts(), ...totals }),
    ready() {
      pool.wake();
      return awaited.promise;
    },
    async close() {
      closed = true;
      admission.rejectAll(new AppError('unavailable', 'The server is stopping.'));
      await pool.close();
    },
  };
}

/** What the head of a file tells about its conversion. Rejects with `not_an_image` or `image_limit`. */
async function examine(job: ConvertJob, limits: InputLimits): Promise<Estimate> {
  const header = await readHeader(job.input);
  if (!header) {
    const name = await formatName(job.input);
    const found = name ? `is ${name}` : 'is not in a known picture format';
    throw new AppError('not_an_image', `The file ${found}; ${acceptedWords(limits.heic)} are accepted.`);
  }
  const { kind, size } = header;
  const { count: frames } = await countFrames(job.input, kind, limits.maxFrames + 1);
  if (size) checkLimits({ ...size, frames: 1 }, limits);
  return { kind, size, frames, job };
}

function unable(retryAfterMs: number): AppError {
  return new AppError('unavailable', 'Images cannot be converted at the moment.', { retryAfterMs });
}
