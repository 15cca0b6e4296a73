import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { AppError } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import { type Ending, startChild } from './child.ts';
import { type JobLimits, PooledWorker, type Run, type Task } from './pooled-worker.ts';
import type { Environment } from './protocol.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

export interface PoolOptions<T extends Task> {
  /** Absolute path and arguments that start this program; `convert-worker` is appended. */
  command: readonly string[];
  /** The server's environment. Only PATH, HOME and similar variables are passed on to the workers. */
  env: Environment;
  /** Number of processes; `next` decides what they run. */
  processes: number;
  /** Parent of the workers' folders, ideally on the file system of inputs and outputs. Created if it is missing. */
  folder: string;
  /** `null`: workers run without a sandbox, and serve everyone. */
  sandbox: { must: boolean } | null;
  limits: JobLimits;
  /** Takes the next task off the queue that may run beside the given ones, or returns `undefined`. */
  next(running: readonly T[]): T | undefined;
  /** Puts a task back to the front. */
  putBack(task: T): void;
  onReady(): void;
  /** Called if no worker could be started and none works or is free for everyone, so waiting jobs fail. */
  onUnable(retryAfterMs: number): void;
  log: Log;
}

export interface PoolCounts {
  /** Process IDs of the workers, the busy ones first. */
  pids: number[];
  /** Number of workers that have begun a job. */
  busy: number;
  timeouts: number;
  crashes: number;
  outOfMemory: number;
  started: number;
  /** True if the last start failed, and no worker works or is free for everyone. */
  unable: boolean;
  /** Parts of the sandbox that the last worker lacks; `null` if it has no sandbox, `undefined` before the first is ready. */
  missing: readonly string[] | null | undefined;
}

const FIRST_BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 30_000;
const OUT_OF_MEMORY_RETRY_MS = 30_000;

/** Keeps conversion processes warm, with one job at a time each, and replaces those that end for any reason. */
export class ProcessPool<T extends Task> {
  readonly #options: PoolOptions<T>;
  readonly #workers = new Set<PooledWorker<T>>();
  readonly #totals = { timeouts: 0, crashes: 0, outOfMemory: 0, started: 0 };
  /** Begins the names of the folders of its workers. */
  readonly #workspaces = `${process.pid}-${randomUUID().slice(0, 8)}`;
  #failedStarts = 0;
  #backOff: { until: number; timer: ReturnType<typeof setTimeout> } | null = null;
  #missing: readonly string[] | null | undefined;
  /** How many workers are kept: none, until it is woken. */
  #wanted = 0;
  #hasBeenReady = false;
  #closed = false;

  constructor(options: PoolOptions<T>) {
    this.#options = options;
  }

  /** Starts missing workers, up to that many, and hands out tasks. */
  wake(wanted = this.#options.processes): void {
    this.#wanted = Math.max(this.#wanted, wanted);
    this.#fill();
  }

  #fill(): void {
    if (this.#closed) return;
    this.#dispatch();
    if (this.#isAlone()) return;
    this.#keepSpare();
    while (!this.#backOff && this.#workers.size < this.#wanted) this.#start();
  }

  /** Kills the worker that runs this task, if any. */
  abandon(task: T): void {
    const verdict = new AppError('unavailable', 'The client is no longer waiting for the image.');
    for (const worker of this.#workers) if (worker.run?.task === task) worker.condemn(verdict);
  }

  /** How long nothing can start; 0 if workers run or can be started. */
  unableForMs(): number {
    if (!this.#backOff || this.#workers.size > 0) return 0;
    return Math.max(1, this.#backOff.until - performance.now());
  }

  counts(): PoolCounts {
    const all = [...this.#workers].sort((a, b) => Number(b.run !== null) - Number(a.run !== null));
    const pids = all.flatMap(({ pid }) => pid ?? []);
    const busy = all.filter(({ run }) => run?.began && !run.answered).length;
    const serves = all.some((it) => it.ready && !it.retired && (it.run || it.client === null));
    return { pids, busy, missing: this.#missing, unable: this.#failedStarts > 0 && !serves, ...this.#totals };
  }

  /** Kills every worker and fails its task. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#backOff) clearTimeout(this.#backOff.timer);
    await Promise.all([...this.#workers].map((worker) => worker.kill()));
  }

  #start(): void {
    this.#totals.started++;
    try {
      this.#startIn(
        createWorkspace(join(this.#options.folder, `${this.#workspaces}-${this.#totals.started}`)),
      );
    } catch (cause) {
      // The disk may be full.
      this.#startLater({ code: null, signal: null, killedByOthers: false, stderr: String(cause) });
    }
  }

  #startIn(workspace: Workspace): void {
    const { command, env, sandbox, limits } = this.#options;
    const inSandbox = sandbox && {
      folder: workspace.folder,
      memoryBytes: limits.memoryLimitBytes,
      must: sandbox.must,
      // The single-file program has no other arguments, and its libraries may have been removed since.
      load: command.length === 1 && (!this.#hasBeenReady || this.#failedStarts > 0),
    };
    const worker: PooledWorker<T> = new PooledWorker(
      workspace,
      limits,
      (onReply) => startChild(command, env, onReply, inSandbox ?? undefined),
      {
        ready: (missing) => this.#onReady(missing),
        idle: () => this.#fill(),
        ended: (ending, lost) => this.#onEnded(worker, ending, lost),
      },
    );
    this.#workers.add(worker);
  }

  #onReady(missing: readonly string[] | null): void {
    const { sandbox, log, onReady } = this.#options;
    if (sandbox && missing?.length !== 0 && String(missing) !== String(this.#missing)) {
      log('warn', 'conversion processes are not fully sandboxed', { missing });
    }
    this.#missing = missing;
    this.#hasBeenReady = true;
    this.#failedStarts = 0;
    onReady();
    this.#fill();
  }

  /** Assigns tasks to idle workers. In a sandbox, a worker that has served one client serves no other. */
  #dispatch(): void {
    const { sandbox, next, putBack } = this.#options;
    for (;;) {
      const idle = [...this.#workers].filter(({ run, ready, retired }) => ready && !run && !retired);
      if (idle.length === 0) return;
      const task = next([...this.#workers].flatMap(({ run }) => run?.task ?? []));
      if (!task) return;
      const worker =
        idle.find(({ client }) => client === task.client) ?? idle.find(({ client }) => client === null);
      if (!worker) {
        putBack(task);
        return;
      }
      if (sandbox) worker.client = task.client;
      worker.assign(task);
      if (task.alone) for (const other of idle) if (other !== worker) other.retire();
    }
  }

  /** Reports whether a task runs that needs all memory. Then no other worker starts. */
  #isAlone(): boolean {
    return [...this.#workers].some(({ run }) => run?.task.alone);
  }

  /** Keeps a fresh worker on standby for the next client. */
  #keepSpare(): void {
    const { sandbox, processes } = this.#options;
    if (!sandbox || this.#workers.size < processes) return;
    const all = [...this.#workers];
    if (all.some(({ retired, client }) => retired || client === null)) return;
    const [oldest] = all.filter(({ run }) => !run).sort((a, b) => a.usedAt - b.usedAt);
    oldest?.retire();
  }

  #onEnded(worker: PooledWorker<T>, ending: Ending, lost: Run<T> | null): void {
    this.#workers.delete(worker);
    if (lost) this.#settle(lost, worker.costOf(lost), ending);
    if (this.#closed) return;
    if (worker.ready) this.#fill();
    else this.#startLater(ending);
  }

  /** Fails the task of a worker that has died, or puts it back if it had not begun. */
  #settle({ task, began, verdict }: Run<T>, cost: number, ending: Ending): void {
    const { processes, putBack, log } = this.#options;
    const wasKilled = !verdict && !this.#closed && ending.killedByOthers;
    if (wasKilled) {
      this.#totals.outOfMemory++;
      log('warn', 'a conversion was killed, probably because memory ran out', { alone: task.alone });
    }
    const firstTime = wasKilled && !task.alone;
    if (firstTime || (!verdict && !this.#closed && !began && task.misses++ < processes)) {
      task.alone ||= firstTime;
      putBack(task);
      return;
    }
    task.spent(cost, false);
    if (verdict?.code === 'conversion_timeout') this.#totals.timeouts++;
    if (verdict?.code === 'image_limit') this.#totals.outOfMemory++;
    if (verdict) task.reject(verdict);
    else if (this.#closed) task.reject(new AppError('unavailable', 'The server is stopping.'));
    else if (wasKilled) {
      // The picture is not to blame: another time, or on a larger machine, it converts.
      const message = 'The server ran out of memory while it converted the image. Try again later.';
      task.reject(new AppError('unavailable', message, { retryAfterMs: OUT_OF_MEMORY_RETRY_MS }));
    } else {
      this.#totals.crashes++;
      log('warn', 'conversion worker died', { ...ending });
      const message = 'The image cannot be converted: the decoder crashes on it.';
      task.reject(new AppError('undecodable_image', message));
    }
  }

  #startLater(ending: Ending): void {
    const { log, onUnable } = this.#options;
    const retryMs = Math.min(FIRST_BACK_OFF_MS * 2 ** this.#failedStarts++, LONGEST_BACK_OFF_MS);
    log('error', 'conversion worker did not start', { ...ending, retryMs });
    if (this.#backOff) clearTimeout(this.#backOff.timer);
    const timer = setTimeout(() => {
      this.#backOff = null;
      this.#fill();
    }, retryMs);
    this.#backOff = { until: performance.now() + retryMs, timer };
    if (![...this.#workers].some(({ run, client }) => run || client === null)) onUnable(retryMs);
  }
}
