import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpuMsOf } from '../../test/support/servers/processes.ts';

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
  const before = await cpuMsOf(pid);
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
  const cpuUs = (((await cpuMsOf(pid)) - before) * 1e3) / Number(requests);
  return { perSecond: Number(requests) / Number(took), cpuUs };
}
