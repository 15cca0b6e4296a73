import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { FarmRole } from '../../test/support/gateway/farm.ts';
import { childrenOf } from '../../test/support/servers/processes.ts';

export interface BenchFarm {
  http: string;
  https: string;
  judge: string;
  witness: string;
  list: string[];
  folder: string;
  /** Paths of the authority's certificate and of the list. */
  ca: string;
  listFile: string;
  /** `exits`: those that the target has seen since the last time, in order. */
  facts(): Promise<{ dials: number; open: number; posts: number; twice: number; exits: string[] }>;
  /** Lets traitors be traitors. */
  turn(): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts farm and targets as a process. */
export async function startBenchFarm(
  count: number,
  shares: Partial<Record<FarmRole, number>>,
  { honest = false, uneven = false } = {},
): Promise<BenchFarm> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-'));
  const [ca, listFile] = [join(folder, 'ca.pem'), join(folder, 'list.txt')];
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'farm-process.ts'), JSON.stringify({ count, shares, ca, honest, uneven })],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve);
    child.once('exit', () => reject(new Error('the farm did not start')));
  });
  const places = JSON.parse(line);
  await writeFile(listFile, `${places.list.join('\n')}\n`);
  return {
    ...places,
    folder,
    ca,
    listFile,
    turn: () => fetch(`${places.http}/turn`),
    facts: async () => (await fetch(`${places.http}/facts`)).json(),
    async stop() {
      child.kill();
      await rm(folder, { recursive: true });
    },
  };
}

/** A program under test: its address, and what it used. */
export interface Subject {
  port: number;
  pid: number;
  /** CPU in ms so far, including child processes. */
  cpuMs(): Promise<number>;
  /** What it has written. */
  output(): string;
  stop(): Promise<void>;
}

/** Program and arguments that start picpool from its source. */
export function programOf(runtime: string): string[] {
  const main = join(import.meta.dirname, '../../src/main');
  return runtime === 'deno'
    ? ['deno', 'run', '-A', '--no-check', `${main}.deno.ts`]
    : [process.execPath, `${main}.ts`];
}

/** Starts the gateway over a list of proxies that work, to targets on this machine. */
export function startGateway(listFile: string, runtime = 'bun'): Promise<Subject> {
  const options = ['--list', listFile, '--port', '0', '--allow-private', '--ports', 'any'];
  return startSubject([...programOf(runtime), 'gateway', ...options], { said: /127\.0\.0\.1:(\d+)/ });
}

/** Starts a program that listens on `port`, or says the port by a text that `said` finds. */
export async function startSubject(
  command: readonly string[],
  { env = {}, said }: { env?: Record<string, string>; said: RegExp | number },
): Promise<Subject> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      output = (output + bytes).slice(-100_000);
      const port = typeof said === 'number' ? undefined : said.exec(output)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  }
  child.once('exit', () => reject(new Error(`${program} ended: ${output}`)));
  if (typeof said === 'number') {
    for (let attempt = 0; attempt < 100 && !(await isOpen(said)); attempt++) await Bun.sleep(50);
    resolve(said);
  }
  const port = await promise;
  const pid = child.pid ?? 0;
  return {
    port,
    pid,
    output: () => output,
    async cpuMs() {
      const pids = [pid, ...(await childrenOf(pid))];
      const times = await Promise.all(pids.map(cpuOf));
      return times.reduce((sum, one) => sum + one, 0);
    },
    async stop() {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function isOpen(port: number): Promise<boolean> {
  return Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } }).then(
    (socket) => {
      socket.end();
      return true;
    },
    () => false,
  );
}

/** User and system time of a process; the kernel counts in hundredths of a second. */
async function cpuOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
}
