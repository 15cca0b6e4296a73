import { readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import process from 'node:process';
import { AppError } from '../../errors.ts';
import type { System } from '../../lib/linux/system.ts';
import { convert } from './convert.ts';
import { confine } from './jail/confine.ts';
import { createLineReader } from './lines.ts';
import type { WorkerReply, WorkerRequest } from './protocol.ts';
import { loadSharp } from './sharp.ts';

/** How often the memory in use is reported to the server. */
const TELL_MS = 50;

type Failure = Extract<WorkerReply, { failed: unknown }>['failed'];

/** What a worker in a jail still has to do for it. */
export interface Jail {
  system: System;
  /** What it may take beyond what it has when it is ready. */
  memoryBytes: number;
  /** What the launcher could not have. */
  missing: readonly string[];
}

/**
 * A conversion process: reads jobs from standard input, one JSON object a line, answers on standard output, and
 * ends when its input does, so that it never outlives the server. This is what `convert-worker` runs.
 */
export async function runConvertWorker(jail: Jail | null = null): Promise<void> {
  volunteerForOutOfMemory();
  letTheServerGoFirst();
  // libheif complains of damaged pictures; standard output is for replies alone.
  console.log = console.error;
  await loadSharp();
  const missing = jail ? [...jail.missing, ...confine(jail.system, jail.memoryBytes)] : undefined;
  // A jailed worker is on Linux, where the server sees it.
  const seen = jail !== null || isSeen();
  const read = createLineReader((line) => void serve(JSON.parse(line) as WorkerRequest, seen));
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text: string) => read(text));
  // A running conversion holds up process.exit; a signal does not wait.
  process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL'));
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL'));
  reply({ ready: true, ...(missing && { missing }) });
}

async function serve({ id, job, limits }: WorkerRequest, seen: boolean): Promise<void> {
  reply({ began: id });
  const telling = seen ? undefined : setInterval(() => reply({ memory: process.memoryUsage.rss() }), TELL_MS);
  try {
    reply({ id, converted: await convert(job, limits) });
  } catch (error) {
    reply({ id, failed: describe(error) });
  } finally {
    clearInterval(telling);
  }
}

/** Whether the server can see how much memory this takes: not outside Linux, nor where Deno may not read /proc. */
function isSeen(): boolean {
  try {
    return readFileSync('/proc/self/statm').length > 0;
  } catch {
    return false;
  }
}

function describe(error: unknown): Failure {
  if (!(error instanceof AppError)) return { code: 'internal', message: String(error) };
  const code = error.code as Failure['code'];
  return { code, message: error.message, ...(error.cause ? { reason: String(error.cause) } : {}) };
}

function reply(message: WorkerReply): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** A conversion may take a little longer; answers of the server may not. */
function letTheServerGoFirst(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Not allowed here: then they share.
  }
}

/** Where the machine runs out of memory, Linux should end a conversion before the server. */
function volunteerForOutOfMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500');
  } catch {
    // Not Linux, or not allowed: the codec still watches the limit.
  }
}
