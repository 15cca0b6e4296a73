import { readFileSync } from 'node:fs';
import process from 'node:process';
import { AppError } from '../../errors.ts';
import type { System } from '../../lib/linux/system.ts';
import { convert } from '../convert/convert.ts';
import { loadSharp } from '../convert/sharp.ts';
import { confine } from '../sandbox/confine.ts';
import { createLineReader, type WorkerReply, type WorkerRequest } from './protocol.ts';

/** How often the memory in use is reported to the server. */
const TELL_MS = 50;

type Failure = Extract<WorkerReply, { failed: unknown }>['failed'];

/** The sandbox steps that are left to a worker. */
export interface Sandbox {
  system: System;
  /** Memory that it may use beyond what it has when it is ready. */
  memoryBytes: number;
  /** Parts that the launcher could not apply. */
  missing: readonly string[];
  /** Whether it must end if a part is unavailable. */
  must: boolean;
}

/**
 * Runs a conversion process: reads jobs from standard input, one JSON object a line, answers on standard output, and
 * ends when its input does, so that it never outlives the server. `convert-worker` runs this.
 */
export async function runConvertWorker(sandbox: Sandbox | null = null): Promise<void> {
  // libheif reports damaged pictures on standard output, which is for replies only.
  console.log = console.error;
  await loadSharp();
  const missing = sandbox ? [...sandbox.missing, ...confine(sandbox.system, sandbox.memoryBytes)] : undefined;
  if (sandbox?.must && missing?.length) process.exit(1);
  const seen = isSeen();
  const read = createLineReader((line) => void serve(JSON.parse(line) as WorkerRequest, seen));
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text: string) => read(text));
  // A running conversion blocks process.exit; a signal does not wait.
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

/** Reports whether the server can see this process's memory: not outside Linux, nor if Deno may not read /proc. */
function isSeen(): boolean {
  try {
    return readFileSync('/proc/self/statm').length > 0;
  } catch {
    return false;
  }
}

function describe(error: unknown): Failure {
  if (!(error instanceof AppError))
    return { code: 'internal', said: { template: String(error), values: {} } };
  const code = error.code as Failure['code'];
  const { template } = error.said;
  const values = Object.fromEntries(
    Object.entries(error.said.values).map(([name, value]) => [name, String(value)]),
  );
  return { code, said: { template, values }, ...(error.cause ? { reason: String(error.cause) } : {}) };
}

function reply(message: WorkerReply): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
