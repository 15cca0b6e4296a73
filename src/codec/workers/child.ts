import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { parseForeignJson } from '../../lib/foreign-json.ts';
import { LAUNCHER, WORKER } from '../sandbox/launch.ts';
import {
  createLineReader,
  type Environment,
  type JobReply,
  WorkerReply,
  type WorkerRequest,
} from './protocol.ts';

/** A ninth of the server's share of a contended core. */
const NICENESS = 10;

/** Signals by which a child is ended from elsewhere: by the kernel or a program such as earlyoom, if memory ran out. */
const FROM_OTHERS = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'];

/** How a child process ended. */
export interface Ending {
  code: number | null;
  signal: string | null;
  /** True if it was ended from elsewhere. */
  killedByOthers: boolean;
  /** The last 2,000 characters of its standard error. */
  stderr: string;
}

interface SandboxOptions {
  /** The only folder that it can see; see `workspace.ts`. */
  folder: string;
  memoryBytes: number;
  /** Whether it must not start if a part of the sandbox is unavailable. */
  must: boolean;
  /** Whether the launcher has to unpack the libraries first. */
  load: boolean;
}

/** More lines than a worker ever needs for one job. */
const MAX_LINES = 10_000;

/** What a child needs to find its runtime, libraries and caches. None of the server's secrets is among them. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'XDG_CACHE_HOME', 'DENO_DIR'];

/**
 * VIPS_BLOCK_UNTRUSTED turns off the loaders that libvips itself does not trust with hostile input (SVG, PDF,
 * ImageMagick...). Two malloc arenas keep many threads from fragmenting memory. Large pictures stay in memory, which
 * is limited, because a worker may write nothing but its result.
 */
const OWN = { VIPS_BLOCK_UNTRUSTED: '1', MALLOC_ARENA_MAX: '2', VIPS_DISC_THRESHOLD: '16g' };

/**
 * Returns the environment of a child. The single-file program keeps libvips below the data folder, which the child
 * could not find from its own folder.
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
 * Starts `[...command, 'convert-worker']` with absolute paths. It runs in the folder of the script, where Deno finds
 * the packages, or in `/`: Bun would read the `.env` of the server's folder, and its secrets, again. A child that
 * breaks the protocol is killed.
 */
export function startChild(
  command: readonly string[],
  own: Environment,
  onReply: (reply: JobReply) => void,
  sandbox?: SandboxOptions,
) {
  const [program = '', ...rest] = command;
  const how = sandbox
    ? [
        LAUNCHER,
        sandbox.folder,
        String(sandbox.memoryBytes),
        sandbox.must ? 'must' : '',
        sandbox.load ? 'load' : '',
      ]
    : [WORKER];
  const child: ChildProcess = spawn(program, [...rest, ...how], {
    cwd: rest.length > 0 ? dirname(rest.at(-1) ?? '/') : '/',
    env: environment(own),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  stepBack(child.pid);
  goFirstOutOfMemory(child.pid);
  let killed = false;
  let stderr = '';
  const kill = (why = '') => {
    stderr += why;
    killed = true;
    child.kill('SIGKILL');
    // A sandboxed worker leads a process group that contains nothing else.
    if (sandbox) killGroup(child.pid);
  };
  let reported = 0;
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (error) =>
      resolve({ code: null, signal: null, killedByOthers: false, stderr: String(error) }),
    );
    child.once('close', (code, signal) =>
      resolve({ code, signal, killedByOthers: !killed && FROM_OTHERS.includes(`${signal}`), stderr }),
    );
  });
  let lines = 0;
  const read = createLineReader((line) => {
    if (++lines > MAX_LINES) throw new RangeError('The worker says too much.');
    const reply: unknown = parseForeignJson(line);
    if (!Value.Check(WorkerReply, reply)) throw new TypeError('The worker sent no reply.');
    if ('memory' in reply) reported = reply.memory;
    else onReply(reply);
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    try {
      read(text);
    } catch (error) {
      kill(String(error));
    }
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2000);
  });
  // Writing to a child that has just died; `ended` reports it.
  child.stdin?.on('error', () => {});
  return {
    pid: child.pid,
    send(request: WorkerRequest): void {
      lines = 0;
      child.stdin?.write(`${JSON.stringify(request)}\n`);
    },
    /** Sends SIGKILL, the only deadline that a decoder cannot ignore. `why` is added to its standard error. */
    kill,
    /**
     * Resident memory in bytes, according to the system, or else to the last message of the worker, which reports it
     * while it converts.
     */
    memory: () => residentBytes(child.pid) || reported,
    /** CPU time used so far, in ms; `null` if the system does not report it. */
    cpuMs: () => cpuTime(child.pid),
    /** Resolves when the process has ended. Never rejects. */
    ended,
  };
}

/** One conversion process. */
export type Child = ReturnType<typeof startChild>;

/**
 * Lowers the priority of a child, so that the server goes first if both want a core: otherwise, with as many
 * conversions as cores, every answer would wait. Must be called before the child has threads, which inherit the
 * priority.
 */
function stepBack(pid: number | undefined): void {
  attempt(() => pid !== undefined && setPriority(pid, NICENESS));
}

/**
 * Lets the kernel kill this child, and not the server, if the machine or the container runs out of memory. The child
 * cannot do that itself, because the sandbox takes away the file.
 */
function goFirstOutOfMemory(pid: number | undefined): void {
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, '1000'));
}

function killGroup(pid: number | undefined): void {
  attempt(() => pid !== undefined && process.kill(-pid, 'SIGKILL'));
}

function attempt(change: () => unknown): void {
  try {
    change();
  } catch {
    // The child has already ended or does not lead a group yet, or the system does not support this.
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
