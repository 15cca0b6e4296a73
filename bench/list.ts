/**
 * Reads of the proxy pool over HTTP, against a bare `Bun.serve` that answers the same bytes, headers included. Needs `wrk`. The servers
 * run as processes of their own and take turns, so that a busy machine slows both.
 *
 *     bun bench/list.ts [seconds a turn] [turns]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuMsOf } from '../test/support/servers/processes.ts';
import { logInto, type ServerProcess, startServer } from '../test/support/servers/server-process.ts';
import { fill } from './list/fill.ts';

if (Bun.which('wrk') === null) throw new Error('wrk is missing.');
const SECONDS = Number(process.argv[2] ?? 2);
const TURNS = Number(process.argv[3] ?? 5);
const SIZES = [1000, 20_000, 200_000];
/** For the rows of other settings. */
const USUAL_SIZE = 20_000;
/**
 * So high that no benchmark reaches it: limits are on by default, and every request is counted. Tokens come back
 * slowly, so that each answer gives a different number of them, as it does for separate clients.
 */
const DEFAULTS = { RATE_LIMITS: 'read=1000000000/30d', PROXY_REFRESH_INTERVAL: '24h' };
const SETTINGS: Record<string, Record<string, string>> = {
  defaults: DEFAULTS,
  'limits off': { ...DEFAULTS, RATE_LIMITS: 'off' },
  'limits off, log at warn, one service': {
    ...DEFAULTS,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    SERVICES: 'proxy',
  },
};
const BARE_SERVER = fileURLToPath(new URL('list/bare-server.ts', import.meta.url));
const PATHS = ['/api/v1/proxies?limit=50', '/api/v1/proxies?limit=50&format=text', '/api/stats'];

/**
 * Starts a server that gives the same answer; with a log file it also has the duties of a server, as described there.
 */
async function startBare(answer: Response, ...logFile: string[]) {
  const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'content-length');
  const child = Bun.spawn([process.execPath, BARE_SERVER, JSON.stringify(headers), ...logFile], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  child.stdin.write(await answer.text());
  await child.stdin.end();
  const { value } = await child.stdout.getReader().read();
  const url = `http://127.0.0.1:${new TextDecoder().decode(value).trim()}`;
  return { url, pid: child.pid, stop: () => child.kill() };
}

/** Requests a second, and the CPU of the server for each in us. */
async function measure(url: string, pid: number): Promise<{ perSecond: number; cpuMicros: number }> {
  const before = await cpuMsOf(pid);
  const wrk = Bun.spawn(['wrk', '-t1', '-c32', `-d${SECONDS}s`, url], { stdout: 'pipe' });
  const output = await new Response(wrk.stdout).text();
  if (/Non-2xx/.test(output)) throw new Error(output);
  const requests = Number(/(\d+) requests in/.exec(output)?.[1]);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]),
    cpuMicros: ((await cpuMsOf(pid)) - before) * (1e3 / requests),
  };
}

const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** The cells of a row: the server and two bare ones, which take turns. */
async function compare(server: ServerProcess, path: string, size: number, setting: string) {
  const bare = await startBare(await fetch(server.url + path));
  const dutiful = await startBare(await fetch(server.url + path), join(folder, 'bare-log'));
  const turns = [];
  for (let turn = -1; turn < TURNS; turn++) {
    const ours = await measure(server.url + path, server.pid);
    const theirs = await measure(bare.url, bare.pid);
    const duties = await measure(dutiful.url, dutiful.pid);
    if (turn >= 0) turns.push({ ours, theirs, duties });
  }
  bare.stop();
  dutiful.stop();
  return [
    setting,
    size,
    path,
    median(turns.map(({ ours }) => ours.perSecond)).toFixed(),
    median(turns.map(({ theirs }) => theirs.perSecond)).toFixed(),
    median(turns.map(({ ours, theirs }) => ours.perSecond / theirs.perSecond)).toFixed(2),
    median(turns.map(({ ours, theirs }) => theirs.cpuMicros / ours.cpuMicros)).toFixed(2),
    median(turns.map(({ duties, theirs }) => duties.perSecond / theirs.perSecond)).toFixed(2),
    median(turns.map(({ duties, theirs }) => theirs.cpuMicros / duties.cpuMicros)).toFixed(2),
    median(turns.map(({ ours }) => ours.cpuMicros)).toFixed(1),
    median(turns.map(({ theirs }) => theirs.cpuMicros)).toFixed(1),
  ];
}

/** First byte and extra memory of an export, in ms and MB. */
async function measureExport(url: string, pid: number) {
  const resident = async () => {
    const status = await Bun.file(`/proc/${pid}/status`).text();
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };
  const firstBytes: number[] = [];
  const extras: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const before = await resident();
    let peak = before;
    const startedAt = performance.now();
    const answer = await fetch(`${url}/api/export`);
    let first = true;
    for await (const _ of answer.body ?? []) {
      if (first) firstBytes.push(performance.now() - startedAt);
      first = false;
      peak = Math.max(peak, await resident());
    }
    extras.push(peak - before);
  }
  const [first = 0, ...later] = extras;
  return { firstByteMs: median(firstBytes), first, later: Math.max(...later) };
}

console.log(
  '| settings | proxies | path | picpool, requests/s | bare, requests/s | ratio (median of turns) | by CPU | bare with duties: ratio | by CPU | CPU of picpool, us | CPU of bare, us |',
);
console.log('|---|---|---|---|---|---|---|---|---|---|---|');
const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-'));
const exports: string[] = [];
for (const size of SIZES) {
  const data = join(folder, String(size));
  await fill(join(data, 'picpool.db'), size);
  for (const [setting, env] of Object.entries(SETTINGS)) {
    if (setting !== 'defaults' && size !== USUAL_SIZE) continue;
    const server = await startServer('bun', env, data, logInto(join(folder, 'log')));
    for (const path of PATHS) console.log(`| ${(await compare(server, path, size, setting)).join(' | ')} |`);
    if (setting === 'defaults') {
      const { firstByteMs, first, later } = await measureExport(server.url, server.pid);
      exports.push(
        `| ${size} | ${firstByteMs.toFixed(1)} ms | ${first.toFixed(0)} MB | ${later.toFixed(0)} MB |`,
      );
    }
    await server.stop();
  }
}
console.log(
  '\n| proxies | export: first byte (median of 5) | extra memory of the first, which fills the page cache | most of the others |',
);
console.log('|---|---|---|---|');
console.log(exports.join('\n'));
await rm(folder, { recursive: true });
