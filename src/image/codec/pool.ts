import { AppError } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import { type Child, type Ending, type Environment, startChild } from './child.ts';
import type { Converted, ConvertJob, InputLimits, JobReply } from './protocol.ts';

/** A job on its way through the pool. */
export interface Task {
  job: ConvertJob;
  /** How often a worker died before it began the job. */
  misses: number;
  /** Told once, before the answer, what CPU time the job took, in ms, and whether it was done. */
  spent(ms: number, done: boolean): void;
  resolve(converted: Converted): void;
  reject(error: Error): void;
}

export interface PoolOptions<T extends Task> {
  /** Program and arguments that start the server again; `convert-worker` is added. */
  command: readonly string[];
  /** The server's own; workers get what they need of it. */
  env: Environment;
  /** How many processes; `next` decides what they run. */
  processes: number;
  /** Of one conversion, from the moment it is handed to a worker. */
  timeoutMs: number;
  /** Resident memory of one worker above which its job is ended. Watched every 50 ms. */
  memoryLimitBytes: number;
  limits: InputLimits;
  /** The next task, taken off the queue, that may run beside those; or `undefined`. */
  next(running: readonly T[]): T | undefined;
  /** Puts a task back to the front. */
  putBack(task: T): void;
  /** No worker runs and none could be started; those who wait should hear of it. */
  onUnable(retryAfterMs: number): void;
  log: Log;
}

export interface Pool<T extends Task> {
  /** Starts what is missing and hands out work. */
  wake(): void;
  /** Ends the worker that runs this task, if one does. */
  abandon(task: T): void;
  /** How long nothing can start, 0 when workers run or may be started. */
  unableForMs(): number;
  counts(): PoolCounts;
  /** Ends every worker at once, and its task. */
  close(): Promise<void>;
}

export interface PoolCounts {
  /** Process ids of the workers, those at work first. */
  pids: number[];
  /** Workers that have begun a job. */
  busy: number;
  timeouts: number;
  crashes: number;
  outOfMemory: number;
  /** Workers started since the beginning. */
  started: number;
}

interface Run<T extends Task> {
  id: number;
  task: T;
  began: boolean;
  deadline: ReturnType<typeof setTimeout>;
  startedAt: number;
  /** CPU time of the worker when it was handed the job, and when it was last looked at, in ms. */
  cpu: { before: number | null; last: number | null };
  /** Why the worker was killed, if the pool did it. */
  verdict: AppError | null;
}

interface Worker<T extends Task> {
  child: Child;
  startLimit: ReturnType<typeof setTimeout>;
  ready: boolean;
  retired: boolean;
  jobs: number;
  run: Run<T> | null;
}

/** A worker that loads sharp takes 0.1 s, on Deno with an empty cache some seconds. */
const START_LIMIT_MS = 20_000;
const WATCH_MS = 50;
/** A fresh worker costs 0.1 s, so that replacing it now and then is free and bounds what fragmentation adds. */
const JOBS_PER_WORKER = 500;
/** What an idle worker may hold; a fresh one has about 70 MiB. */
const IDLE_BYTES = 400 * 1024 * 1024;
const MAX_MISSES = 2;
const FIRST_BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 30_000;

/** Keeps conversion processes warm, one job at a time each, and replaces those that end for any reason. */
export function createPool<T extends Task>(options: PoolOptions<T>): Pool<T> {
  const { command, env, timeoutMs, memoryLimitBytes, limits, log } = options;
  const workers = new Set<Worker<T>>();
  const totals = { timeouts: 0, crashes: 0, outOfMemory: 0, started: 0 };
  let lastId = 0;
  let failedStarts = 0;
  let backOff: { until: number; timer: ReturnType<typeof setTimeout> } | null = null;
  let watch: ReturnType<typeof setInterval> | null = null;
  let closed = false;

  function start(): void {
    totals.started++;
    const child = startChild(command, env, (reply) => onReply(worker, reply));
    const startLimit = setTimeout(child.kill, START_LIMIT_MS);
    const worker: Worker<T> = { child, startLimit, ready: false, retired: false, jobs: 0, run: null };
    workers.add(worker);
    void child.ended.then((ending) => onEnded(worker, ending));
  }

  function onReply(worker: Worker<T>, reply: JobReply): void {
    const { run } = worker;
    if ('ready' in reply) {
      clearTimeout(worker.startLimit);
      worker.ready = true;
      failedStarts = 0;
      assign(worker);
    } else if ('began' in reply) {
      if (run && reply.began === run.id) run.began = true;
    } else if (run && reply.id === run.id && !run.verdict) {
      finish(worker, run);
      run.task.spent(costOf(worker, run), 'converted' in reply);
      if ('converted' in reply) run.task.resolve(reply.converted as Converted);
      else run.task.reject(failure(reply.failed));
      if (worker.jobs >= JOBS_PER_WORKER || worker.child.memory() > IDLE_BYTES) retire(worker);
      else assign(worker);
    }
  }

  function assign(worker: Worker<T>): void {
    if (worker.run || !worker.ready || worker.retired || closed) return;
    const task = options.next([...workers].flatMap(({ run }) => run?.task ?? []));
    if (!task) return;
    const cpuMs = worker.child.cpuMs();
    const run: Run<T> = {
      id: ++lastId,
      task,
      began: false,
      verdict: null,
      startedAt: performance.now(),
      cpu: { before: cpuMs, last: cpuMs },
      deadline: setTimeout(() => {
        totals.timeouts++;
        const message = `The image could not be converted within ${timeoutMs / 1000} s.`;
        condemn(worker, run, new AppError('conversion_timeout', message));
      }, timeoutMs),
    };
    worker.run = run;
    worker.child.send({ id: run.id, job: task.job, limits });
    watch ??= setInterval(look, WATCH_MS);
  }

  function finish(worker: Worker<T>, run: Run<T>): void {
    clearTimeout(run.deadline);
    worker.run = null;
    worker.jobs++;
    if (watch && ![...workers].some(({ run }) => run)) {
      clearInterval(watch);
      watch = null;
    }
  }

  function condemn(worker: Worker<T>, run: Run<T>, verdict: AppError): void {
    run.verdict ??= verdict;
    worker.child.kill();
  }

  function look(): void {
    for (const worker of workers) {
      if (worker.run) worker.run.cpu.last = worker.child.cpuMs() ?? worker.run.cpu.last;
      if (!worker.run || worker.run.verdict || worker.child.memory() <= memoryLimitBytes) continue;
      totals.outOfMemory++;
      const message =
        'The conversion of the image takes more memory than is allowed; try smaller dimensions.';
      condemn(worker, worker.run, new AppError('image_limit', message));
    }
  }

  function retire(worker: Worker<T>): void {
    worker.retired = true;
    worker.child.kill();
  }

  function onEnded(worker: Worker<T>, ending: Ending): void {
    clearTimeout(worker.startLimit);
    workers.delete(worker);
    const { run } = worker;
    if (run) {
      finish(worker, run);
      settleLost(worker, run, ending);
    }
    if (closed) return;
    if (worker.ready) wake();
    else backOffFrom(ending);
  }

  function backOffFrom(ending: Ending): void {
    const waitMs = Math.min(FIRST_BACK_OFF_MS * 2 ** failedStarts++, LONGEST_BACK_OFF_MS);
    log('error', 'conversion worker did not start', { ...ending, retryMs: waitMs });
    if (backOff) clearTimeout(backOff.timer);
    const timer = setTimeout(() => {
      backOff = null;
      wake();
    }, waitMs);
    backOff = { until: performance.now() + waitMs, timer };
    if (workers.size === 0) options.onUnable(waitMs);
  }

  /** The process is gone and the task has no answer. */
  function settleLost(worker: Worker<T>, run: Run<T>, { code, signal, stderr }: Ending): void {
    const { task, began, verdict } = run;
    const again = !verdict && !closed && !began && task.misses++ < MAX_MISSES;
    if (again) {
      options.putBack(task);
      return;
    }
    task.spent(costOf(worker, run), false);
    if (verdict) task.reject(verdict);
    else if (closed) task.reject(new AppError('unavailable', 'The server is stopping.'));
    else {
      totals.crashes++;
      log('warn', 'conversion worker died', { code, signal, stderr });
      task.reject(
        new AppError('undecodable_image', 'The image cannot be converted: it makes the decoder fail.'),
      );
    }
  }

  function wake(): void {
    if (closed) return;
    for (const worker of workers) assign(worker);
    while (!backOff && workers.size < options.processes) start();
  }

  function counts(): PoolCounts {
    const all = [...workers].sort((a, b) => Number(b.run !== null) - Number(a.run !== null));
    const pids = all.flatMap(({ child }) => child.pid ?? []);
    return { pids, busy: all.filter(({ run }) => run?.began).length, ...totals };
  }

  return {
    wake,
    abandon(task) {
      const verdict = new AppError('unavailable', 'Nobody waits for the image any more.');
      for (const worker of workers) if (worker.run?.task === task) condemn(worker, worker.run, verdict);
    },
    unableForMs: () => (backOff && workers.size === 0 ? Math.max(1, backOff.until - performance.now()) : 0),
    counts,
    async close() {
      closed = true;
      if (backOff) clearTimeout(backOff.timer);
      await Promise.all(
        [...workers].map(({ child }) => {
          child.kill();
          return child.ended;
        }),
      );
    },
  };
}

/** CPU time of a run that has ended; the time that passed where the system does not tell. */
function costOf({ child }: Worker<Task>, { cpu: { before, last }, startedAt }: Run<Task>): number {
  const after = child.cpuMs() ?? (last === before ? null : last);
  return before === null || after === null ? performance.now() - startedAt : after - before;
}

function failure({ code, message, reason }: { code: string; message: string; reason?: string }): Error {
  if (code === 'undecodable_image' || code === 'image_limit' || code === 'storage_full') {
    return new AppError(code, message, reason === undefined ? {} : { cause: reason });
  }
  return new Error(`conversion failed: ${message}`);
}
