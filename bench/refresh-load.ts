/**
 * List requests while a refresh stores its results in the same process, against the same server at rest. Needs `wrk`.
 *
 *     bun bench/refresh-load.ts [seconds of the refresh]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { cpuMsOf } from '../test/support/servers/processes.ts';
import { fill } from './list/fill.ts';

if (Bun.which('wrk') === null) throw new Error('wrk is missing.');
const SECONDS = Number(process.argv[2] ?? 60);
const KNOWN = 20_000;
const RESULTS = 100_000;
const TURN_S = 3;

interface Refreshed {
  seconds: number;
  checked: number;
  error: string | null;
  stop: { wallMs: number; cpuMs: number };
}

const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-'));
const file = join(folder, 'picpool.db');
await fill(file, KNOWN);
const script = join(import.meta.dirname, 'refresh-load', 'server.ts');
const child = Bun.spawn([process.execPath, script, file, `${KNOWN}`, `${RESULTS}`, `${SECONDS}`], {
  stdin: 'pipe',
  stdout: 'pipe',
  stderr: 'inherit',
});
const lines = createInterface(Readable.fromWeb(child.stdout))[Symbol.asyncIterator]();
const nextLine = async () => String((await lines.next()).value);
const url = `http://127.0.0.1:${await nextLine()}/api/v1/proxies?limit=50`;

interface Turn {
  perSecond: number;
  /** By CPU of the server, which a busy machine barely changes. */
  perCpuSecond: number;
  slowestMs: number;
}

async function load(): Promise<Turn> {
  const before = await cpuMsOf(child.pid);
  const wrk = Bun.spawn(['wrk', '-t1', '-c32', `-d${TURN_S}s`, url], { stdout: 'pipe' });
  const output = await new Response(wrk.stdout).text();
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(output);
  const [, slowest = '', unit = ''] = /Latency\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)/.exec(output) ?? [];
  const slowestMs = Number(slowest) * { us: 0.001, ms: 1, s: 1000 }[unit as 'us' | 'ms' | 's'];
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]),
    perCpuSecond:
      (Number(/(\d+) requests in/.exec(output)?.[1]) * 1000) / ((await cpuMsOf(child.pid)) - before),
    slowestMs,
  };
}

async function turns(wanted: (turn: number) => boolean) {
  const all = [];
  for (let turn = 0; wanted(turn); turn++) all.push(await load());
  return all;
}

const mean = (some: Turn[], field: keyof Turn) =>
  some.reduce((sum, turn) => sum + turn[field], 0) / some.length;
const slowest = (some: Turn[]) => Math.max(...some.map(({ slowestMs }) => slowestMs));

await load();
const idle = await turns((turn) => turn < 3);
child.stdin.write('refresh\n');
let refreshed: Refreshed | null = null;
const ended = nextLine().then((line) => {
  refreshed = JSON.parse(line) as Refreshed;
});
const busy = await turns(() => refreshed === null);
await ended;
idle.push(...(await turns((turn) => turn < 3)));
await child.stdin.end();
await child.exited;
await rm(folder, { recursive: true });

const { seconds, checked, error, stop } = refreshed as unknown as Refreshed;
if (error !== null) throw new Error(error);
console.log(`${checked} results stored in ${seconds.toFixed()} s beside ${KNOWN} proxies`);
console.log('| | at rest | during the refresh | |\n|---|---|---|---|');
for (const [field, what] of [
  ['perSecond', 'list requests per second'],
  ['perCpuSecond', 'list requests per second of CPU of the server'],
] as const) {
  const [atRest, meanwhile] = [mean(idle, field), mean(busy, field)];
  const ratio = (meanwhile / atRest).toFixed(2);
  console.log(`| ${what} | ${atRest.toFixed()} | ${meanwhile.toFixed()} | x ${ratio} (>= 0.7) |`);
}
console.log(`| slowest request, ms | ${slowest(idle).toFixed()} | ${slowest(busy).toFixed()} | (<= 100) |`);
console.log(
  `| longest stop of the event loop, ms | | ${stop.wallMs.toFixed()}, of it CPU ${stop.cpuMs.toFixed()} | (<= 50) |`,
);
