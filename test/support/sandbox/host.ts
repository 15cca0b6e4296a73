/**
 * A server with hostile workers, as a process of its own, so that it can be another user: prints one JSON object a line for
 * each attempt. `bun host.ts SANDBOX ATTEMPT...` or `deno run -A host.ts ...`, all of a kind for `all` and `needed`.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { createCodec } from '../../../src/codec/codec.ts';
import { forbidDumps } from '../../../src/lib/linux/process.ts';
import { ATTEMPTS, NEEDED, type Target } from './attempts.ts';
import { commandOf, runtime } from './runtime.ts';

const [sandbox = 'require', ...asked] = process.argv.slice(2);
const system = await runtime.system();
if (system && sandbox !== 'off') forbidDumps(system);
const data = await mkdtemp(join(tmpdir(), 'picpool-sandbox-'));
const otherBay = join(data, 'work', '1-other', 'given');
await mkdir(otherBay, { recursive: true });
const [tcp, unix] = [createServer(), createServer()];
await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
await new Promise<void>((resolve) => unix.listen(join(data, 'socket'), resolve));
const { port } = tcp.address() as { port: number };
const target: Omit<Target, 'input' | 'output'> = {
  server: process.pid,
  data,
  database: join(data, 'picpool.db'),
  otherJob: join(otherBay, 'picture'),
  env: join(data, '.env'),
  tcpPort: port,
  unixSocket: join(data, 'socket'),
};
for (const path of [target.database, target.otherJob, target.env]) await writeFile(path, 'secret');

const codec = createCodec({
  command: commandOf(fileURLToPath(new URL('hostile-worker.ts', import.meta.url))),
  env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, DATA_DIR: data, DENO_DIR: join(data, 'deno') },
  folder: join(data, 'work'),
  sandbox: sandbox as 'require' | 'off',
  workers: 1,
  timeoutMs: asked.includes('outlive the deadline') ? 2000 : 30_000,
  // A thread of V8 counts 512 MiB for the code that it may compile.
  memoryLimitBytes: 768 * 2 ** 20,
  maxPixels: 1e12,
  maxFrames: 10,
  heic: true,
  log: () => {},
  now: () => performance.now(),
});
const names = asked.flatMap((name) =>
  name === 'all' ? Object.keys(ATTEMPTS) : name === 'needed' ? Object.keys(NEEDED) : name,
);
for (const attempt of names) {
  const input = join(data, 'in');
  await writeFile(input, `GIF89a${JSON.stringify({ attempt, target })}`);
  const startedAt = performance.now();
  const outcome = await codec
    .convert(
      { input, output: join(data, 'out'), format: 'gif', stripExif: true, maxWidth: 1 },
      { client: 'attacker' },
    )
    .then(
      () => 'converted',
      (error: Error) => error.message.replace('conversion failed: ', ''),
    );
  await rm(input);
  const ms = Math.round(performance.now() - startedAt);
  process.stdout.write(`${JSON.stringify({ attempt, outcome, ms })}\n`);
}
const { missing } = codec.stats();
await codec.close();
process.stdout.write(`${JSON.stringify({ missing, user: process.geteuid?.() })}\n`);
tcp.close();
unix.close();
await rm(data, { recursive: true, force: true });
process.exit(0);
