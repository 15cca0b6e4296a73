/**
 * Held load: CLIENTS (200) clients for DURATION_S (60) seconds read, upload, test and refresh without a pause, which is more than
 * the machine can do. Prints what was answered, how fast, the health answers meanwhile, the most memory, and how fast
 * reads are before and five seconds after.
 */
import { readFile } from 'node:fs/promises';
import { startProxyWorld } from '../test/support/farm/proxy-world.ts';
import { photo } from '../test/support/images/images.ts';
import { childrenOf } from '../test/support/servers/processes.ts';
import { startServer } from '../test/support/servers/server-process.ts';

const CLIENTS = Number(process.env.CLIENTS ?? 200);
const SECONDS = Number(process.env.DURATION_S ?? 60);

/** What the machine itself adds: a server that does nothing else. */
const IDLE_SERVER =
  "console.log('' + Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('ok') }).url)";

const world = await startProxyWorld();
const server = await startServer('bun', { ...world.env, RATE_LIMITS: 'off', LOG_LEVEL: 'error' });
const { url } = server;
const picture = new Uint8Array(await photo(1600, 1200));
const links: string[] = [];
const answers = new Map<string, number>();
const times: number[] = [];
const pages = ['/api/v1/proxies?limit=50', '/api/list', '/api/stats', '/gallery', '/api/export'];

const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(Math.random() * items.length)];

async function call(kind: string, path: string, init?: RequestInit): Promise<Response | null> {
  const startedAt = performance.now();
  const answer = await fetch(url + path, init).catch(() => null);
  const body = await answer
    ?.clone()
    .arrayBuffer()
    .catch(() => null);
  times.push(performance.now() - startedAt);
  const key = `${kind} ${answer && body ? answer.status : 'broken'}`;
  answers.set(key, (answers.get(key) ?? 0) + 1);
  return answer;
}

async function upload(): Promise<void> {
  const answer = await call('upload', `/api/upload?max_width=${200 + Math.floor(Math.random() * 800)}`, {
    method: 'POST',
    body: picture,
  });
  if (answer?.status === 201)
    links.push(new URL(((await answer.json()) as { raw_url: string }).raw_url).pathname);
}

async function testProxy(): Promise<void> {
  const [protocol = '', ip, port] = (pick(world.working) ?? '').split(/:\/\/|:/);
  await call('test', '/api/test_proxy_quick', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ protocol, ip, port: Number(port) }),
  });
}

async function client(until: number): Promise<void> {
  while (performance.now() < until) {
    const dice = Math.random();
    if (dice < 0.2) await upload();
    else if (dice < 0.28) await testProxy();
    else if (dice < 0.29) await call('refresh', '/api/refresh', { method: 'POST' });
    else if (dice < 0.6) await call('image', pick(links) ?? '/livez');
    else await call('read', pick(pages) ?? '/');
  }
}

/** Requests the health all the time. Returns a function that stops it and returns the results. */
function watchHealth(target: string): () => Promise<string> {
  const watcher = new Worker(new URL('./load-health.ts', import.meta.url));
  const report = new Promise<{ times: number[]; faults: number }>((resolve) => {
    watcher.onmessage = ({ data }) => resolve(data);
  });
  watcher.postMessage(target);
  return async () => {
    watcher.postMessage('stop');
    const { times: took, faults } = await report;
    watcher.terminate();
    const ordered = inOrder(took);
    const late = took.filter((one) => one > 100).length;
    return (
      `${took.length} answers, ${faults} faults, ${late} later than 100 ms, median ${ms(quantile(ordered, 0.5))}, ` +
      `99 % ${ms(quantile(ordered, 0.99))}, most ${ms(quantile(ordered, 1))}`
    );
  };
}

/** Reads a second, with eight clients: the median of five half seconds, as a shared machine has bad moments. */
async function readRate(): Promise<number> {
  const rates: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    let count = 0;
    const until = performance.now() + 500;
    const one = async () => {
      for (; performance.now() < until; count++)
        await (await fetch(`${url}/api/v1/proxies?limit=50`)).arrayBuffer();
    };
    await Promise.all(Array.from({ length: 8 }, one));
    rates.push(2 * count);
  }
  return quantile(inOrder(rates), 0.5);
}

async function residentMiB(pid: number): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '0 0');
  return (Number(statm.split(' ')[1]) * 4096) / 2 ** 20;
}

const ms = (value: number) => `${value.toFixed(1)} ms`;
const quantile = (sorted: readonly number[], q: number) => sorted[Math.floor((sorted.length - 1) * q)] ?? 0;
const inOrder = (values: number[]) => values.toSorted((a, b) => a - b);

await fetch(`${url}/api/refresh`, { method: 'POST' });
await Bun.sleep(3000);
await upload();
const before = await readRate();

let peak = 0;
let workersPeak = 0;
const memory = setInterval(async () => {
  peak = Math.max(peak, await residentMiB(server.pid));
  const workers = await Promise.all((await childrenOf(server.pid)).map(residentMiB));
  workersPeak = Math.max(
    workersPeak,
    workers.reduce((sum, one) => sum + one, 0),
  );
}, 250);
const idle = Bun.spawn([process.execPath, '-e', IDLE_SERVER], { stdout: 'pipe' });
const idleUrl = (await idle.stdout.getReader().read()).value ?? new Uint8Array();
const health = watchHealth(url);
const control = watchHealth(new TextDecoder().decode(idleUrl).trim());
const startedAt = performance.now();
await Promise.all(Array.from({ length: CLIENTS }, () => client(startedAt + SECONDS * 1000)));
const lastedS = (performance.now() - startedAt) / 1000;
const healthLine = await health();
const controlLine = await control();
idle.kill();
await Bun.sleep(5000);
const after = await readRate();
clearInterval(memory);

const sorted = inOrder(times);
console.log(
  `${CLIENTS} clients, ${lastedS.toFixed(1)} s, ${times.length} answers (${(times.length / lastedS).toFixed(0)}/s)`,
);
for (const key of [...answers.keys()].sort()) console.log(`  ${key.padEnd(16)} ${answers.get(key)}`);
console.log(
  `latency         median ${ms(quantile(sorted, 0.5))}, 99 % ${ms(quantile(sorted, 0.99))}, most ${ms(quantile(sorted, 1))}`,
);
console.log(`health          ${healthLine}`);
console.log(`an idle server  ${controlLine}`);
console.log(
  `memory          server at most ${peak.toFixed(0)} MiB, conversion processes ${workersPeak.toFixed(0)} MiB together`,
);
console.log(
  `reads           ${before.toFixed(0)}/s before, ${after.toFixed(0)}/s five seconds after: ${((100 * after) / before).toFixed(0)} %`,
);
await server.stop();
await world.stop();
process.exit(0);
