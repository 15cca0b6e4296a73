import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks a second in /proc: 100 on every Linux in common use. */
const TICKS = 100;

/** The result of one run of wrk against a server. */
export interface Load {
  perSecond: number;
  /** CPU of the server's process for one request, in microseconds, all its threads and the kernel's work for it. */
  cpuUs: number;
}

/** Starts a program and resolves with it when it has printed a line that matches. */
export async function startProgram(command: readonly string[], ready: RegExp) {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  for await (const chunk of child.stdout) {
    printed += chunk;
    const found = ready.exec(printed);
    if (found) return { child, pid: child.pid ?? 0, found: found[1] ?? '' };
  }
  throw new Error(`${program} ended: ${printed}`);
}

/**
 * Loads an address with wrk for this many seconds. The CPU is that of the process `pid` and of its children, if it
 * forks.
 */
export async function load(
  url: string,
  pid: number,
  seconds: number,
  headers: readonly string[] = [],
): Promise<Load> {
  const before = await cpuSeconds(pid);
  const wrk = spawn('wrk', [
    '-t1',
    '-c8',
    `-d${seconds}s`,
    ...headers.flatMap((header) => ['-H', header]),
    url,
  ]);
  let printed = '';
  wrk.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await once(wrk, 'close');
  const [, requests = '0', took = '1'] = /(\d+) requests in ([\d.]+)s/.exec(printed) ?? [];
  const wrong = /Non-2xx or 3xx responses: (\d+)|Socket errors/.exec(printed);
  if (wrong || Number(requests) === 0) throw new Error(`${url} under load: ${printed}`);
  const cpuUs = (((await cpuSeconds(pid)) - before) * 1e6) / Number(requests);
  return { perSecond: Number(requests) / Number(took), cpuUs };
}

async function cpuSeconds(pid: number): Promise<number> {
  const pids = [pid, ...(await childrenOf(pid))];
  const times = await Promise.all(pids.map(async (one) => (await statOf(one)).ticks));
  return times.reduce((sum, ticks) => sum + ticks, 0) / TICKS;
}

async function childrenOf(pid: number): Promise<number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(
    all.map(async (one) => (await statOf(one).catch(() => ({ parent: 0 }))).parent),
  );
  return all.filter((_, index) => parents[index] === pid);
}

async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may hold spaces: state, parent, ..., user time and system time as 12th and 13th.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}
