import { resolve as absolute } from 'node:path';
import { AppError, message } from '../errors.ts';
import { storing } from '../lib/storage-full.ts';
import { countFrames } from './convert/frames.ts';
import { readHeader } from './convert/header.ts';
import { checkLimits } from './convert/limits.ts';
import { acceptedNames, formatName } from './formats.ts';
import { type AdmissionOptions, createAdmission } from './workers/admission.ts';
import type { Purpose, Queued } from './workers/fair-queue.ts';
import { createJob, type Job } from './workers/job.ts';
import { type PoolCounts, type PoolOptions, ProcessPool } from './workers/pool.ts';
import type { JobLimits } from './workers/pooled-worker.ts';
import { type Budget, createPrices, type Estimate } from './workers/price.ts';
import type { Converted, ConvertJob, InputLimits } from './workers/protocol.ts';
import { FULL } from './workers/workspace.ts';

export type { Converted, ConvertJob } from './workers/protocol.ts';

/** Whom a conversion is for. */
export interface Order {
  /** Whose budget it uses: the client's network, or the name of its token. Clients take turns. */
  client: string;
  /** Uploads go before versions. Default: upload. */
  purpose?: Purpose;
  /** Aborts when nobody waits for the picture. */
  signal?: AbortSignal;
}

export interface CodecStats extends PoolCounts {
  queued: number;
  /** Expected CPU time of the waiting jobs, in ms. */
  queuedMs: number;
  /** How long a conversion would wait for a client with nothing waiting, in ms. */
  waitMs: number;
  refusedBusy: number;
}

export interface CodecOptions
  extends AdmissionOptions,
    InputLimits,
    Omit<JobLimits, 'input'>,
    Pick<PoolOptions<Job>, 'command' | 'env' | 'folder' | 'log'> {
  /** CPU time of each client. Default: unlimited. */
  budget?: Budget;
  /**
   * Whether workers run in a sandbox; `require`: only in a complete one. In a sandbox a worker serves one client and
   * is then replaced.
   */
  sandbox: 'require' | 'on' | 'off';
}

/** Creates the codec. Nothing is started before `ready` or the first conversion. */
export function createCodec(options: CodecOptions) {
  const { workers, maxPixels, maxFrames, heic, timeoutMs, memoryLimitBytes, budget } = options;
  const limits = { maxPixels, maxFrames, heic };
  const sandbox = options.sandbox === 'off' ? null : { must: options.sandbox === 'require' };
  const admission = createAdmission<Job>(options);
  const prices = createPrices();
  const awaited = Promise.withResolvers<void>();
  awaited.promise.catch(() => {});
  let closed = false;

  const pool = new ProcessPool<Job>({
    ...options,
    // One is kept for cheap jobs, and one is on standby for the next client.
    processes: workers + (sandbox ? 2 : 1),
    sandbox,
    limits: { timeoutMs, memoryLimitBytes, input: limits },
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
    const estimate = await storing(examine(job, limits), FULL);
    const price = prices.of(estimate, client);
    signal?.throwIfAborted();
    admit(client, price);
    await budget?.take(client, price);
    signal?.throwIfAborted();
    const paths = { input: absolute(job.input), output: absolute(job.output) };
    return enqueue({ ...job, ...paths }, estimate, { client, purpose, price }, signal);
  }

  /** Records what a job took, which is what its client pays in the end. */
  function account(task: Job, estimate: Estimate, ms: number, done: boolean): void {
    // Files that fail at once say nothing about the cost of others.
    if (done || ms > task.price) prices.learn(estimate, task.client, ms);
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
      leave: () => admission.remove(task),
      abandon: () => pool.abandon(task),
    });
    admission.push(task);
    pool.wake();
    admission.relieve();
    return done;
  }

  return {
    /**
     * Converts a file. Rejects with `AppError`: `not_an_image`, `undecodable_image`, `image_limit`,
     * `conversion_timeout`, `storage_full`, `rate_limited` (the client's budget is used up), `busy` (too many jobs of
     * the client wait) or `unavailable` (no worker can run); with the signal's reason if it aborts. `job.output` exists
     * only if the promise resolves.
     */
    convert,
    /**
     * Throws `busy` or `unavailable` if a conversion of that client would be refused now, so that no body is read in
     * vain.
     */
    admit: (client: string) => admit(client, 0),
    stats: () => ({ ...pool.counts(), ...admission.counts() }),
    /** Starts a worker. Resolves when it can take work. Rejects with `unavailable` if none can be started. */
    ready(): Promise<void> {
      // One shows how all will run.
      pool.wake(1);
      return awaited.promise;
    },
    /** Kills all workers. Running and waiting jobs are rejected with `unavailable`. */
    async close(): Promise<void> {
      closed = true;
      admission.rejectAll(new AppError('unavailable', 'The server is stopping.'));
      await pool.close();
    },
  };
}

/** Converts pictures in separate processes, which can be killed. */
export type Codec = ReturnType<typeof createCodec>;

/** Reads what the head of a file says about its conversion. Rejects with `not_an_image` or `image_limit`. */
async function examine(job: ConvertJob, limits: InputLimits): Promise<Estimate> {
  const header = await readHeader(job.input);
  if (!header) {
    const name = await formatName(job.input);
    const found = name ? message('is {kind}', { kind: name }) : 'is not in a known picture format';
    const accepted = acceptedNames(limits.heic);
    throw new AppError(
      'not_an_image',
      message('The file {found}; {formats} and {last} are accepted.', {
        found,
        formats: accepted.slice(0, -1).join(', '),
        last: accepted.at(-1) ?? '',
      }),
    );
  }
  const { kind, size } = header;
  const { count: frames } = await countFrames(job.input, kind, limits.maxFrames + 1);
  if (size) checkLimits({ ...size, frames: 1 }, limits);
  return { kind, size, frames, job };
}

function unable(retryAfterMs: number): AppError {
  return new AppError('unavailable', 'Images cannot be converted at the moment.', { retryAfterMs });
}
