import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { farmAddress } from '../test/support/farm/farm.ts';
import { bareCheck, inParallel, startFarmProcess } from './bare-check.ts';

/**
 * `picpool check` over a list of working proxies, including its start, as a share of a bare `node:net` loop that
 * sends and reads the same bytes. Both take turns in one run. `--full` takes longer; `--binary FILE` measures that
 * program.
 */
const full = process.argv.includes('--full');
const CHECKS = full ? 60_000 : 30_000;
const ROUNDS = full ? 7 : 3;
const AT_ONCE = 256;
const TARGET = 0.6;
/** The engine compiles the bare loop until then. */
const WARM_UP = 15_000;
interface Measured {
  perSecond: number;
  /** More meaningful on a busy machine. */
  cpuMicros: number;
}

const binaryAt = process.argv.indexOf('--binary');
const program = binaryAt < 0 ? [process.execPath, 'src/main.ts'] : [process.argv[binaryAt + 1] ?? ''];

const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-'));
const farm = await startFarmProcess();
const list = join(folder, 'list.txt');
const hosts = Array.from({ length: CHECKS }, (_, n) => farmAddress('instant http', n));
await writeFile(list, hosts.map((host) => `${host}:${farm.port}\n`).join(''));

const bare = (n: number) => bareCheck(farm, hosts[n % CHECKS] ?? '');
await inParallel(bare, WARM_UP, AT_ONCE);
const rounds: Record<'bare' | 'cli', Measured>[] = [];
for (let round = 0; round < ROUNDS; round++) {
  rounds.push({ bare: await checkBare(), cli: await checkList() });
}
farm.stop();
await rm(folder, { recursive: true });

const middle = (of: (round: (typeof rounds)[number]) => number) => median(rounds.map(of));
const ratio = middle(({ bare, cli }) => cli.perSecond / bare.perSecond);
const good = ratio >= TARGET;
const rates = `${middle(({ cli }) => cli.perSecond).toFixed(0)} living/s over ${CHECKS}, bare loop ${middle(({ bare }) => bare.perSecond).toFixed(0)}/s`;
const cpu = `${middle(({ cli }) => cli.cpuMicros).toFixed(0)} us of CPU each, bare loop ${middle(({ bare }) => bare.cpuMicros).toFixed(0)} us`;
console.log(
  `${good ? 'ok  ' : 'MISS'} picpool check: ${rates}, ${cpu}; ratio: ${ratio.toFixed(2)} (>= ${TARGET})`,
);
if (!good) process.exitCode = 1;

async function checkBare(): Promise<Measured> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await inParallel(bare, CHECKS, AT_ONCE);
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: CHECKS / seconds, cpuMicros: (user + system) / CHECKS };
}

async function checkList(): Promise<Measured> {
  const startedAt = performance.now();
  const options = ['--quiet', '--allow-private', '--judge', farm.judge, '--concurrency', String(AT_ONCE)];
  const child = Bun.spawn([...program, 'check', list, ...options], {
    stdin: 'ignore',
    stdout: 'pipe',
    env: { ...process.env, PROXY_WITNESSES: 'none' },
  });
  const living = (await child.stdout.text()).split('\n').length - 1;
  await child.exited;
  const seconds = (performance.now() - startedAt) / 1000;
  if (living !== CHECKS) throw new Error(`${living} of ${CHECKS} live`);
  return {
    perSecond: living / seconds,
    cpuMicros: Number(child.resourceUsage()?.cpuTime.total ?? 0) / living,
  };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
