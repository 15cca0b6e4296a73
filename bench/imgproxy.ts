/**
 * Photos to WebP by 4 clients at once, against imgproxy at equal bytes. `bun bench/imgproxy.ts PROGRAM FOLDER [ROUNDS]`: imgproxy, and a folder
 * of JPEG photos. picpool receives, converts in the sandbox and stores them; imgproxy reads them from that folder and sends the results. It
 * runs with its default settings. Its quality is the one at which all photos together have the bytes that picpool gives them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cpuMsOf } from '../test/support/servers/processes.ts';
import { startServer } from '../test/support/servers/server-process.ts';
import { median } from './images/row.ts';

const [program = 'imgproxy', folder = '.', rounds = '3'] = process.argv.slice(2);
const CLIENTS = 4;
const names = (await readdir(folder)).filter((name) => /\.jpe?g$/i.test(name));
const photos = new Map<string, Uint8Array<ArrayBuffer>>();
for (const name of names) photos.set(name, new Uint8Array(await readFile(join(folder, name))));

const port = 18_300 + Math.floor(Math.random() * 1000);
const other = spawn(program, {
  env: {
    IMGPROXY_BIND: `127.0.0.1:${port}`,
    IMGPROXY_LOCAL_FILESYSTEM_ROOT: resolve(folder),
    IMGPROXY_LOG_LEVEL: 'error',
  },
  stdio: 'inherit',
});
// Rejects if there is no such program.
await once(other, 'spawn');
const server = await startServer('bun', { SERVICES: 'image', RATE_LIMITS: 'off', LOG_LEVEL: 'warn' });

async function upload(name: string): Promise<number> {
  const answer = await fetch(`${server.url}/api/upload`, { method: 'POST', body: photos.get(name) ?? null });
  if (answer.status !== 201) throw new Error(`picpool answered ${answer.status} to ${name}`);
  return ((await answer.json()) as { size: number }).size;
}

async function fetched(name: string, quality: number): Promise<number> {
  const path = `insecure/rs:fit:4096:4096/q:${quality}/plain/local:///${encodeURIComponent(name)}@webp`;
  const answer = await fetch(`http://127.0.0.1:${port}/${path}`);
  const bytes = await answer.bytes();
  if (!answer.ok) throw new Error(`imgproxy answered ${answer.status} to ${name}`);
  return bytes.length;
}

/** Converts each photo once. Returns bytes, seconds and CPU seconds. */
async function turn(pid: number, job: (name: string) => Promise<number>): Promise<[number, number, number]> {
  const [startedAt, cpu] = [performance.now(), await cpuMsOf(pid)];
  const left = [...names];
  let bytes = 0;
  const client = async () => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      const size = await job(name);
      bytes += size;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return [bytes, (performance.now() - startedAt) / 1000, ((await cpuMsOf(pid)) - cpu) / 1000];
}

try {
  const pid = other.pid ?? 0;
  while (!(await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok) {
    if (other.exitCode !== null) throw new Error(`${program} has ended`);
    await Bun.sleep(50);
  }
  const [wanted] = await turn(server.pid, upload);
  let [low, high] = [64, 96];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const [bytes] = await turn(pid, (name) => fetched(name, middle));
    if (bytes < wanted) low = middle;
    else high = middle;
  }
  const ratios: { bytes: number; speed: number; cpu: number }[] = [];
  for (let round = 0; round < Number(rounds); round++) {
    const own = await turn(server.pid, upload);
    const theirs = await turn(pid, (name) => fetched(name, low));
    ratios.push({ bytes: own[0] / theirs[0], speed: theirs[1] / own[1], cpu: theirs[2] / own[2] });
  }
  const middle = (of: (one: (typeof ratios)[number]) => number) => median(ratios.map(of)).toFixed(2);
  console.log(
    `${names.length} photos, imgproxy at quality ${low}: bytes ${middle(({ bytes }) => bytes)}, photos per second ${middle(({ speed }) => speed)}, per CPU second ${middle(({ cpu }) => cpu)} of imgproxy`,
  );
  console.log(ratios);
} finally {
  other.kill();
  await server.stop();
}
