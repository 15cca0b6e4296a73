import { AppError, Message, message } from '../../errors.ts';
import type { Child, Ending } from './child.ts';
import type { Converted, ConvertJob, InputLimits, JobReply } from './protocol.ts';
import type { Workspace } from './workspace.ts';

/** A job in the pool. */
export interface Task {
  job: ConvertJob;
  /** Whose budget it uses. A sandboxed worker serves only one client. */
  client: string;
  /** How often a worker died before it began the job. */
  misses: number;
  /** True if it must run with nothing beside it, because memory ran out when it ran before. */
  alone: boolean;
  /** Called once, before the answer, with the CPU time of the job in ms, and whether it succeeded. */
  spent(ms: number, done: boolean): void;
  resolve(converted: Converted): void;
  reject(error: Error): void;
}

/** Limits of each job. */
export interface JobLimits {
  /** Time limit of one conversion, from the moment a worker gets it. */
  timeoutMs: number;
  /** Resident memory of the worker above which its job is ended. Watched every 50 ms. */
  memoryLimitBytes: number;
  input: InputLimits;
}

/** What a worker tells its pool. */
interface WorkerEvents<T extends Task> {
  /** It can take work. `missing`: see `WorkerReply`; `null` without a sandbox. */
  ready(missing: readonly string[] | null): void;
  idle(): void;
  /** Its process has ended. `lost`: the job that it had not answered. */
  ended(ending: Ending, lost: Run<T> | null): void;
}

/** A job in a worker. */
export interface Run<T extends Task> {
  readonly task: T;
  began: boolean;
  answered: boolean;
  /** Why the pool killed the worker, if it did. */
  verdict: AppError | null;
  readonly startedAt: number;
  /** CPU time of the worker when it got the job, and when it was last checked, in ms. */
  readonly cpu: { before: number | null; last: number | null };
  readonly deadline: ReturnType<typeof setTimeout>;
  readonly watch: ReturnType<typeof setInterval>;
}

/** A worker loads sharp in 0.1 s, or in some seconds on Deno with an empty cache. */
const START_LIMIT_MS = 20_000;
const WATCH_MS = 50;
/** A fresh worker costs 0.1 s, so replacing it now and then is almost free, and limits memory fragmentation. */
const JOBS_PER_WORKER = 500;
/** Maximum memory of an idle worker; a fresh one has about 70 MiB. */
const IDLE_BYTES = 400 * 1024 * 1024;

/** A process of the pool with its folder. It does one job at a time, and is killed when a job exceeds its limits. */
export class PooledWorker<T extends Task> {
  /** The client that it serves; `null` for a fresh one, and without a sandbox. */
  client: string | null = null;
  /** When it was last handed a job. */
  usedAt = 0;
  ready = false;
  /** True if it takes no more work. */
  retired = false;
  run: Run<T> | null = null;
  readonly #child: Child;
  readonly #workspace: Workspace;
  readonly #limits: JobLimits;
  readonly #events: WorkerEvents<T>;
  readonly #startLimit: ReturnType<typeof setTimeout>;
  #jobs = 0;

  constructor(
    workspace: Workspace,
    limits: JobLimits,
    start: (onReply: (reply: JobReply) => void) => Child,
    events: WorkerEvents<T>,
  ) {
    this.#workspace = workspace;
    this.#limits = limits;
    this.#events = events;
    this.#child = start((reply) => this.#onReply(reply));
    const late = `It was not ready within ${START_LIMIT_MS / 1000} s.`;
    this.#startLimit = setTimeout(() => this.#child.kill(late), START_LIMIT_MS);
    void this.#child.ended.then((ending) => this.#onEnded(ending));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Starts a job. The worker must not have one. */
  assign(task: T): void {
    const cpuMs = this.#child.cpuMs();
    const { timeoutMs, input: limits } = this.#limits;
    const id = ++this.#jobs;
    const run: Run<T> = {
      task,
      began: false,
      answered: false,
      verdict: null,
      startedAt: performance.now(),
      cpu: { before: cpuMs, last: cpuMs },
      deadline: setTimeout(() => {
        const seconds = timeoutMs / 1000;
        const said = message('The image could not be converted within {seconds} s.', { seconds });
        this.condemn(new AppError('conversion_timeout', said));
      }, timeoutMs),
      watch: setInterval(() => this.#look(run), WATCH_MS),
    };
    this.run = run;
    this.usedAt = run.startedAt;
    this.#workspace.load(task.job).then(
      (job) => this.#child.send({ id, job, limits }),
      (error: Error) => {
        // If the process has died, so has its folder, and the pool has settled the task.
        if (run.answered) return;
        // Otherwise somebody has removed a folder, and another worker can do the job.
        if (this.#workspace.isWhole()) {
          answer(run);
          task.spent(0, false);
          task.reject(error);
          this.run = null;
        }
        this.retire();
      },
    );
  }

  /** Ends the worker and its job, unless the job has been answered. */
  condemn(verdict: AppError): void {
    if (!this.run || this.run.answered) return;
    this.run.verdict ??= verdict;
    this.#child.kill();
  }

  /** Ends the worker, which has no job. */
  retire(): void {
    this.retired = true;
    this.#child.kill();
  }

  /** Ends the process; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill();
    await this.#child.ended;
  }

  /** Returns the CPU time of a job that has ended, in ms, or the elapsed time if the system does not report it. */
  costOf({ cpu: { before, last }, startedAt }: Run<T>): number {
    const after = this.#child.cpuMs() ?? (last === before ? null : last);
    return before === null || after === null ? performance.now() - startedAt : after - before;
  }

  #look({ cpu, verdict }: Run<T>): void {
    cpu.last = this.#child.cpuMs() ?? cpu.last;
    if (verdict || this.#child.memory() <= this.#limits.memoryLimitBytes) return;
    const said = 'Converting the image takes too much memory; try smaller dimensions.';
    this.condemn(new AppError('image_limit', said));
  }

  #onReply(reply: JobReply): void {
    const { run } = this;
    if ('ready' in reply) {
      clearTimeout(this.#startLimit);
      this.ready = true;
      this.#events.ready(reply.missing ?? null);
    } else if (!run) return;
    else if ('began' in reply) run.began ||= reply.began === this.#jobs;
    else if (reply.id === this.#jobs && !run.verdict && !run.answered) {
      answer(run);
      run.task.spent(this.costOf(run), 'converted' in reply);
      void this.#complete(run, reply);
    }
  }

  /** Copies the result from the folder. Then the worker can take its next job. */
  async #complete({ task }: Run<T>, reply: Answer): Promise<void> {
    try {
      if (!('converted' in reply)) throw failure(reply.failed);
      await this.#workspace.unload(task.job, reply.converted);
      task.resolve(reply.converted);
    } catch (error) {
      task.reject(error instanceof Error ? error : new Error(String(error)));
    }
    await this.#workspace.empty().catch(() => this.retire());
    this.run = null;
    if (this.#jobs >= JOBS_PER_WORKER || this.#child.memory() > IDLE_BYTES) this.retire();
    this.#events.idle();
  }

  #onEnded(ending: Ending): void {
    clearTimeout(this.#startLimit);
    this.#workspace.remove();
    const lost = this.run?.answered ? null : this.run;
    if (lost) answer(lost);
    this.#events.ended(ending, lost);
  }
}

/** Marks a job as answered, so that nothing ends it. */
function answer<T extends Task>(run: Run<T>): void {
  run.answered = true;
  clearTimeout(run.deadline);
  clearInterval(run.watch);
}

/** The message that ends a job. */
type Answer = Extract<JobReply, { id: number }>;
type Failure = Extract<Answer, { failed: unknown }>['failed'];

function failure({ code, said: { template, values }, reason }: Failure): Error {
  const said = new Message(template, values);
  if (code !== 'internal') return new AppError(code, said, reason === undefined ? {} : { cause: reason });
  return new Error(`conversion failed: ${said}`);
}
