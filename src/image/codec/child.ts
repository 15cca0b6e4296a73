import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import type { Environment } from './environment.ts';
import { LAUNCHER, WORKER } from './jail/launch.ts';
import { createLineReader } from './lines.ts';
import { type JobReply, WorkerReply, type WorkerRequest } from './protocol.ts';

/** A third of the server's share of a contended core. */
const NICENESS = 5;

/** How a child ended. */
export interface Ending {
  code: number | null;
  signal: string | null;
  /** The last 2,000 characters of its standard error. */
  stderr: string;
}

/** One conversion process. */
export interface Child {
  readonly pid: number | undefined;
  send(request: WorkerRequest): void;
  /** SIGKILL: the only deadline that a decoder cannot sit out. */
  kill(): void;
  /** Resident memory in bytes: what the system says, or else what the worker said last, which it does while it converts. */
  memory(): number;
  /** CPU time that it has used so far, in ms; `null` if the system does not tell. */
  cpuMs(): number | null;
  /** Resolves when the process is gone; never rejects. */
  readonly ended: Promise<Ending>;
}

/** A jail for a child. */
export interface JailOptions {
  /** The only one that it can see; see `bay.ts`. */
  folder: string;
  memoryBytes: number;
  /** Whether it must not start if a part of the sandbox is unavailable. */
  must: boolean;
  /** Whether the launcher has to unpack the libraries first. */
  load: boolean;
}

/** More lines than a worker has to say about one job. */
const MAX_LINES = 10_000;

/** What a child needs to find its runtime, its libraries and its caches. No secret of the server is among them. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'XDG_CACHE_HOME', 'DENO_DIR'];

/**
 * VIPS_BLOCK_UNTRUSTED turns off the loaders that libvips itself does not trust with hostile input (SVG, PDF,
 * ImageMagick...). Two malloc arenas keep the memory of many threads from scattering. Large pictures stay in memory, which
 * is limited, as a worker may write nothing but its result.
 */
const OWN = { VIPS_BLOCK_UNTRUSTED: '1', MALLOC_ARENA_MAX: '2', VIPS_DISC_THRESHOLD: '16g' };

/**
 * The environment of a child.
 * The one-file program keeps libvips below the data folder, which the child could not find from its own folder.
 */
function environment(own: Environment): Record<string, string> {
  const kept = PASSED_ON.flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const dataDir = resolve(own.DATA_DIR || 'data');
  return { ...Object.fromEntries(kept), DATA_DIR: dataDir, ...OWN };
}

/**
 * Starts `[...command, 'convert-worker']`, whose paths must be absolute. It runs in the folder of the script, from where
 * Deno finds the packages, or in `/`: Bun would read the `.env` of the server's folder, and its secrets, again. A
 * child that breaks the protocol is killed.
 */
export function startChild(
  command: readonly string[],
  own: Environment,
  onReply: (reply: JobReply) => void,
  jail?: JailOptions,
): Child {
  const [program = '', ...rest] = command;
  const how = jail
    ? [LAUNCHER, jail.folder, String(jail.memoryBytes), jail.must ? 'must' : '', jail.load ? 'load' : '']
    : [WORKER];
  const child: ChildProcess = spawn(program, [...rest, ...how], {
    cwd: rest.length > 0 ? dirname(rest.at(-1) ?? '/') : '/',
    env: environment(own),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  stepBack(child.pid);
  const kill = () => {
    child.kill('SIGKILL');
    // A jailed worker leads a group, of which nobody else should be.
    if (jail) killGroup(child.pid);
  };
  let stderr = '';
  let reported = 0;
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, stderr: String(error) }));
    child.once('close', (code, signal) => resolve({ code, signal, stderr }));
  });
  let lines = 0;
  const read = createLineReader((line) => {
    if (++lines > MAX_LINES) throw new RangeError('The worker says too much.');
    const reply: unknown = JSON.parse(line);
    if (!Value.Check(WorkerReply, reply)) throw new TypeError('The worker sent no reply.');
    if ('memory' in reply) reported = reply.memory;
    else onReply(reply);
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    try {
      read(text);
    } catch (error) {
      stderr += String(error);
      kill();
    }
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2000);
  });
  // Writing to a child that has just died; `ended` tells.
  child.stdin?.on('error', () => {});
  return {
    pid: child.pid,
    send(request) {
      lines = 0;
      child.stdin?.write(`${JSON.stringify(request)}\n`);
    },
    kill,
    memory: () => residentBytes(child.pid) || reported,
    cpuMs: () => cpuTime(child.pid),
    ended,
  };
}

/**
 * The server goes first where both want a core: with as many conversions as cores, or more, it would wait its turn
 * for every answer. To be set before the child has threads, which inherit it.
 */
function stepBack(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, NICENESS);
  } catch {
    // It has ended already, or the system knows no such thing.
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended, or has not come so far as to lead one.
  }
}

/** The second field of statm counts resident pages; 4 KiB each on the x86-64 and arm64 kernels in common use. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4096;
  } catch {
    return 0;
  }
}

/** Fields 14 and 15 of stat count ticks in user and kernel mode, 10 ms each on every common kernel. */
function cpuTime(pid: number | undefined): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null;
  }
}
