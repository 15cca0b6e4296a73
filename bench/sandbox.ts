/**
 * What the sandbox of conversions costs: the start of a worker and conversions a second, with it and without, taking turns in one run;
 * then small pictures of many clients, each of which gets a fresh worker. `bun bench/sandbox.ts [ROUNDS] [BINARY]`; with a
 * binary, its start alone.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWorkspace } from '../src/codec/workers/workspace.ts';
import { startCodec } from '../test/support/codec/codec.ts';
import { WORKER_COMMAND } from '../test/support/codec/worker-command.ts';
import { photo } from '../test/support/images/images.ts';
import { median } from './images/row.ts';

const rounds = Number(process.argv[2] ?? 9);
const folder = await mkdtemp(join(tmpdir(), 'picpool-sandbox-bench-'));
const binary = process.argv[3];
const [program = '', ...rest] = binary ? [binary] : WORKER_COMMAND;

/** From the start of a worker to its first line; and the CPU time of it until then, in ms. */
async function started(args: readonly string[]): Promise<{ ms: number; cpu: number }> {
  const startedAt = performance.now();
  const child = spawn(program, [...rest, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const ms = performance.now() - startedAt;
  const stat = (await Bun.file(`/proc/${child.pid}/stat`).text()).split(') ')[1]?.split(' ') ?? [];
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
  return { ms, cpu: (Number(stat[11]) + Number(stat[12])) * 10 };
}

async function starts(): Promise<void> {
  const workspace = createWorkspace(join(folder, 'workspace'));
  const free: { ms: number; cpu: number }[] = [];
  const sandboxed: { ms: number; cpu: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    free.push(await started(['convert-worker']));
    sandboxed.push(await started(['convert-sandbox', workspace.folder, String(2 ** 31), 'must', '']));
    await workspace.empty();
    await rm(join(workspace.folder, 'modules'), { recursive: true, force: true });
  }
  const of = (runs: typeof free) =>
    `${median(runs.map(({ ms }) => ms)).toFixed(0)} ms, CPU ${median(runs.map(({ cpu }) => cpu)).toFixed(0)} ms`;
  console.log(`start of a worker: ${of(free)}; in the sandbox: ${of(sandboxed)} (medians of ${rounds})`);
}

async function throughput(name: string, picture: Buffer, count: number, client: (index: number) => string) {
  const [free, sandboxed] = [await startCodec({ sandbox: 'off' }), await startCodec({ sandbox: 'require' })];
  const rate = async ({ convert }: typeof free) => {
    const startedAt = performance.now();
    let next = 0;
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        while (next < count) await convert(picture, {}, { client: client(next++) });
      }),
    );
    return (count * 1000) / (performance.now() - startedAt);
  };
  for (const bench of [free, sandboxed]) await rate(bench);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [first, second] = round % 2 ? [sandboxed, free] : [free, sandboxed];
    const [a, b] = [await rate(first), await rate(second)];
    ratios.push(round % 2 ? a / b : b / a);
  }
  console.log(`${name}: ${median(ratios).toFixed(2)} of that without the sandbox (median of ${rounds})`);
  await free.stop();
  await sandboxed.stop();
}

await starts();
if (binary) process.exit(0);
await throughput('photos of 3 megapixels, one client', await photo(2000, 1500), 8, () => 'one');
await throughput('pictures of 60 KB, one client', await photo(800, 600), 40, () => 'one');
await throughput(
  'pictures of 60 KB, each of another client',
  await photo(800, 600),
  40,
  (index) => `client ${index}`,
);
await rm(folder, { recursive: true });
