import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { AppError } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import { type Bay, createBay } from './bay.ts';
import { type Child, type Ending, startChild } from './child.ts';
import type { Environment } from './environment.ts';
import type { Converted, ConvertJob, InputLimits, JobReply } from './protocol.ts';

/** A job in the pool. */
export interface Task {
  job: ConvertJob;
  /** Whose budget it uses. A sandboxed worker serves only one client. */
  client: string;
  /** How often a worker died before it began the job. */
  misses: number;
  /** Called once, before the answer, with the CPU time of the job in ms, and whether it succeeded. */
  spent(ms: number, done: boolean): void;
  resolve(converted: Converted): void;
  reject(error: Error): void;
}

export interface PoolOptions<T extends Task> {
  /** Absolute path and arguments that start the server again; `convert-worker` is appended. */
  command: readonly string[];
  /** The server's environment; workers get what they need of it. */
  env: Environment;
  /** Number of processes; `next` decides what they run. */
  processes: number;
  /** Parent of the workers' folders. */
  folder: string;
  /** `null`: workers run without a sandbox, and serve everyone. */
  jail: { must: boolean } | null;
  /** Time limit of one conversion, from the moment a worker gets it. */
  timeoutMs: number;
  /** Maximum resident memory of one worker, checked every 50 ms. Beyond it the worker is killed. */
  memoryLimitBytes: number;
  limits: InputLimits;
  /** Takes the next task off the queue that may run beside the given ones, or returns `undefined`. */
  next(running: readonly T[]): T | undefined;
  /** Puts a task back to the front. */
  putBack(task: T): void;
  /** Called when a worker can take work. */
  onReady(): void;
  /** Called if no worker runs and none could be started, so waiting jobs fail. */
  onUnable(retryAfterMs: number): void;
  log: Log;
}

export interface Pool<T extends Task> {
  /** Starts missing workers and hands out tasks. */
  wake(): void;
  /** Kills the worker that runs this task, if any. */
  abandon(task: T): void;
  /** How long nothing can start; 0 if workers run or can be started. */
  unableForMs(): number;
  counts(): PoolCounts;
  /** Kills every worker and fails its task. */
  close(): Promise<void>;
}

export interface PoolCounts {
  /** Process IDs of the workers, the busy ones first. */
  pids: number[];
  /** Number of workers that have begun a job. */
  busy: number;
  timeouts: number;
  crashes: number;
  outOfMemory: number;
  /** Number of workers started in total. */
  started: number;
  /**
   * Parts of the sandbox that the most recently started worker lacks; `null` without a sandbox, or if none has
   * started.
   */
  missing: readonly string[] | null;
}

interface Run<T extends Task> {
  id: number;
  task: T;
  began: boolean;
  deadline: ReturnType<typeof setTimeout>;
  startedAt: number;
  /** CPU time of the worker when it got the job, and when it was last checked, in ms. */
  cpu: { before: number | null; last: number | null };
  /** Why the pool killed the worker, if it did. */
  verdict: AppError | null;
  /** True once the worker has answered. */
  answered: boolean;
}

interface Worker<T extends Task> {
  child: Child;
  bay: Bay;
  /** The client that it serves; `null` for a fresh worker, and without a sandbox. */
  client: string | null;
  usedAt: number;
  startLimit: ReturnType<typeof setTimeout>;
  ready: boolean;
  retired: boolean;
  jobs: number;
  run: Run<T> | null;
}

/** A worker loads sharp in 0.1 s, or in some seconds on Deno with an empty cache. */
const START_LIMIT_MS = 20_000;
const WATCH_MS = 50;
/** A fresh worker costs 0.1 s, so replacing it now and then is almost free, and limits memory fragmentation. */
const JOBS_PER_WORKER = 500;
/** Maximum memory of an idle worker; a fresh one has about 70 MiB. */
const IDLE_BYTES = 400 * 1024 * 1024;
const MAX_MISSES = 2;
const FIRST_BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 30_000;

/** Keeps conversion processes warm, with one job at a time each, and replaces those that end for any reason. */
export function createPool<T extends Task>(options: PoolOptions<T>): Pool<T> {
  const { command, env, timeoutMs, memoryLimitBytes, limits, log, folder, jail } = options;
  const bays = randomUUID().slice(0, 8);
  const workers = new Set<Worker<T>>();
  const totals = { timeouts: 0, crashes: 0, outOfMemory: 0, started: 0 };
  let lastId = 0;
  let failedStarts = 0;
  let backOff: { until: number; timer: ReturnType<typeof setTimeout> } | null = null;
  let watch: ReturnType<typeof setInterval> | null = null;
  let missing: readonly string[] | null = null;
  let hasBeenReady = false;
  let closed = false;

  function start(): void {
    totals.started++;
    const bay = createBay(join(folder, `${process.pid}-${bays}-${totals.started}`));
    const inJail = jail && {
      folder: bay.folder,
      memoryBytes: memoryLimitBytes,
      must: jail.must,
      // The single-file program has no other arguments.
      load: !hasBeenReady && command.length === 1,
    };
    const child = startChild(command, env, (reply) => onReply(worker, reply), inJail ?? undefined);
    const startLimit = setTimeout(child.kill, START_LIMIT_MS);
    const worker: Worker<T> = {
      child,
      bay,
      client: null,
      usedAt: 0,
      startLimit,
      ready: false,
      retired: false,
      jobs: 0,
      run: null,
    };
    workers.add(worker);
    void child.ended.then((ending) => onEnded(worker, ending));
  }

  function onReply(worker: Worker<T>, reply: JobReply): void {
    const { run } = worker;
    if ('ready' in reply) {
      clearTimeout(worker.startLimit);
      worker.ready = true;
      hasBeenReady = true;
      noteJail(reply.missing ?? null);
      options.onReady();
      failedStarts = 0;
      wake();
    } else if ('began' in reply) {
      if (run && reply.began === run.id) run.began = true;
    } else if (run && reply.id === run.id && !run.verdict && !run.answered) {
      run.answered = true;
      clearTimeout(run.deadline);
      run.task.spent(costOf(worker, run), 'converted' in reply);
      void complete(worker, run, reply);
    }
  }

  /** Logs what is missing, once. */
  function noteJail(found: readonly string[] | null): void {
    if (jail && found?.length !== 0 && String(found) !== String(missing)) {
      log('warn', 'conversion processes are not fully sandboxed', { missing: found });
    }
    missing = found;
  }

  /** Copies the result out of the worker's folder and lets it have its next job. */
  async function complete(worker: Worker<T>, run: Run<T>, reply: Answer): Promise<void> {
    const { task } = run;
    run.began = false;
    try {
      if (!('converted' in reply)) throw failure(reply.failed);
      await worker.bay.unload(task.job, reply.converted as Converted);
      task.resolve(reply.converted as Converted);
    } catch (error) {
      task.reject(error instanceof Error ? error : new Error(String(error)));
    }
    await worker.bay.empty().catch(() => retire(worker));
    finish(worker, run);
    if (worker.jobs >= JOBS_PER_WORKER || worker.child.memory() > IDLE_BYTES) retire(worker);
    wake();
  }

  /** Hands out tasks that may run. In a sandbox a worker only ever serves one client. */
  function dispatch(): void {
    for (;;) {
      const idle = [...workers].filter(({ run, ready, retired }) => ready && !run && !retired);
      if (idle.length === 0) return;
      const task = options.next([...workers].flatMap(({ run }) => run?.task ?? []));
      if (!task) return;
      const worker =
        idle.find(({ client }) => client === task.client) ?? idle.find(({ client }) => client === null);
      if (!worker) {
        options.putBack(task);
        return;
      }
      if (jail) worker.client = task.client;
      assign(worker, task);
    }
  }

  /** Keeps a fresh worker on standby for the next client. */
  function keepSpare(): void {
    if (!jail || workers.size < options.processes) return;
    const all = [...workers].filter(({ retired }) => !retired);
    if (all.length < workers.size || all.some(({ client }) => client === null)) return;
    const [oldest] = all.filter(({ run }) => !run).sort((a, b) => a.usedAt - b.usedAt);
    if (oldest) retire(oldest);
  }

  function assign(worker: Worker<T>, task: T): void {
    const cpuMs = worker.child.cpuMs();
    const run: Run<T> = {
      id: ++lastId,
      task,
      began: false,
      verdict: null,
      answered: false,
      startedAt: performance.now(),
      cpu: { before: cpuMs, last: cpuMs },
      deadline: setTimeout(() => {
        totals.timeouts++;
        const message = `The image could not be converted within ${timeoutMs / 1000} s.`;
        condemn(worker, run, new AppError('conversion_timeout', message));
      }, timeoutMs),
    };
    worker.run = run;
    worker.usedAt = run.startedAt;
    worker.bay.load(task.job).then(
      (job) => worker.child.send({ id: run.id, job, limits }),
      (error: Error) => {
        run.answered = true;
        clearTimeout(run.deadline);
        task.spent(0, false);
        task.reject(error);
        finish(worker, run);
        retire(worker);
      },
    );
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
    worker.bay.remove();
    if (run && !run.answered) {
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

  /** The process has ended without answering the task. */
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
    dispatch();
    keepSpare();
    while (!backOff && workers.size < options.processes) start();
  }

  function counts(): PoolCounts {
    const all = [...workers].sort((a, b) => Number(b.run !== null) - Number(a.run !== null));
    const pids = all.flatMap(({ child }) => child.pid ?? []);
    return { pids, busy: all.filter(({ run }) => run?.began).length, missing, ...totals };
  }

  return {
    wake,
    abandon(task) {
      const verdict = new AppError('unavailable', 'The client is no longer waiting for the image.');
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

/** Returns the CPU time of a finished run, or the elapsed time if the system does not report it. */
function costOf({ child }: Worker<Task>, { cpu: { before, last }, startedAt }: Run<Task>): number {
  const after = child.cpuMs() ?? (last === before ? null : last);
  return before === null || after === null ? performance.now() - startedAt : after - before;
}

/** The message that ends a job. */
type Answer = Extract<JobReply, { id: number }>;
type Failure = Extract<Answer, { failed: unknown }>['failed'];

function failure({ code, message, reason }: Failure): Error {
  if (code !== 'internal') {
    return new AppError(code, message, reason === undefined ? {} : { cause: reason });
  }
  return new Error(`conversion failed: ${message}`);
}
