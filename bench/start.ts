/**
 * Time from the start of the compiled program to its first answer, as a multiple of that of a compiled `Bun.serve` of one
 * line, taking turns in one run; and the memory of both a second later. `bun bench/start.ts [rounds]`
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { compile } from '../scripts/build/compile.ts';
import { chooseTargets } from '../scripts/build/targets.ts';
import { median } from './images/row.ts';

const ROUNDS = Number(process.argv[2] ?? 15);
const GOALS = { times: 2.5, residentBytes: 120e6, fileBytes: 150e6 };
const HELLO = `
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('hello') });
  process.stderr.write('listening ' + server.url.origin + '\\n');
`;

const root = resolve(import.meta.dir, '..');
const scratch = await mkdtemp(join(tmpdir(), 'picpool-start-'));
try {
  await writeFile(join(scratch, 'hello.ts'), HELLO);
  await mkdir(join(scratch, 'data'));
  const [target] = chooseTargets(undefined);
  if (!target) throw new Error('There is no build target for this machine.');
  const helloPath = join(scratch, 'hello');
  await Bun.build({ entrypoints: [join(scratch, 'hello.ts')], compile: { outfile: helloPath } });
  const { path: picpoolPath } = await compile({ root, target, path: join(scratch, 'picpool') });

  const times: Record<string, number[]> = { [helloPath]: [], [picpoolPath]: [] };
  const resident: Record<string, number> = {};
  // The first round creates the database and fills the file cache; it does not count.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const path of [helloPath, picpoolPath]) {
      const { ms, residentBytes } = await startOnce(path, round === ROUNDS);
      if (round > 0) times[path]?.push(ms);
      resident[path] = residentBytes;
    }
  }
  const helloMs = median(times[helloPath] ?? []);
  const picpoolMs = median(times[picpoolPath] ?? []);
  const fileBytes = (await stat(picpoolPath)).size;
  const ratio = picpoolMs / helloMs;
  console.table({
    hello: { 'first answer (ms)': round1(helloMs), 'memory (MB)': round1((resident[helloPath] ?? 0) / 1e6) },
    picpool: {
      'first answer (ms)': round1(picpoolMs),
      'memory (MB)': round1((resident[picpoolPath] ?? 0) / 1e6),
      'file (MB)': round1(fileBytes / 1e6),
    },
  });
  const fastest = Math.min(...(times[picpoolPath] ?? [])) / Math.min(...(times[helloPath] ?? []));
  console.log(
    `${ratio.toFixed(2)} times hello (medians); goal: at most ${GOALS.times}; the fastest: ${fastest.toFixed(2)} times`,
  );
  const met =
    ratio <= GOALS.times &&
    (resident[picpoolPath] ?? Number.POSITIVE_INFINITY) < GOALS.residentBytes &&
    fileBytes < GOALS.fileBytes;
  console.log(met ? 'All goals are met.' : 'A goal is missed.');
  process.exitCode = met ? 0 : 1;
} finally {
  await rm(scratch, { recursive: true });
}

async function startOnce(path: string, settles: boolean): Promise<{ ms: number; residentBytes: number }> {
  const startedAt = performance.now();
  const child = spawn(path, {
    cwd: scratch,
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      PROXY_REFRESH_ON_START: 'false',
      PROXY_JUDGES: 'http://127.0.0.1:9/',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    const url = await listening(child.stderr);
    await (await fetch(url)).arrayBuffer();
    const ms = performance.now() - startedAt;
    if (settles) await Bun.sleep(1000);
    return { ms, residentBytes: await residentBytes(child.pid) };
  } finally {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
}

async function listening(output: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of output) {
    text += chunk;
    const url = /listening\s+(\S+)/.exec(text)?.[1];
    if (url) return url;
  }
  throw new Error(`it ended: ${text}`);
}

async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

function round1(value: number): number {
  return Math.round(value * 10) / 10;
}
