/**
 * `bun bench/redis-copy.ts [runs] [size]`: a new copy of a pool on Redis, of 200,000 proxies by default: processor time
 * and memory from opening the store until it answers, in new processes on Bun and Deno.
 */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import process from 'node:process';
import { openRedis } from '../adapters/redis/connection.ts';
import { createRedisProxies } from '../adapters/redis/proxies.ts';
import { openProxyReplica } from '../adapters/sqlite/proxy-replica.ts';
import type { ProxyStore } from '../src/proxy/store.ts';
import type { Runtime } from '../src/runtime/runtime.ts';

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

async function openStore(url: string): Promise<ProxyStore & { close(): Promise<void> }> {
  const runtime: Runtime =
    'Deno' in globalThis
      ? (await import('../src/runtime/deno.ts')).denoRuntime
      : (await import('../src/runtime/bun.ts')).bunRuntime;
  const redis = await openRedis(url);
  const store = createRedisProxies(redis, () => openProxyReplica(runtime, tmpdir()));
  return { ...store, close: redis.close };
}

/** Reads the pool, and prints ms of processor time, and MiB added in the end and at most. */
async function read(url: string): Promise<void> {
  const store = await openStore(url);
  const [cpuBefore, memoryBefore] = [process.cpuUsage(), process.memoryUsage().rss];
  while ((await store.summary().catch(() => null)) === null);
  const { user, system } = process.cpuUsage(cpuBefore);
  const added = (bytes: number) => (bytes - memoryBefore) / 2 ** 20;
  // The system's own `maxRSS` may be that of the parent process.
  const [, most] = /VmHWM:\s+(\d+)/.exec(await readFile('/proc/self/status', 'utf8')) ?? [];
  console.log(
    JSON.stringify([(user + system) / 1000, added(process.memoryUsage().rss), added(Number(most) * 1024)]),
  );
  await store.close();
}

async function compare(runs: number, size: number): Promise<void> {
  const { startRedis } = await import('../test/support/stores/services.ts');
  const { pool } = await import('./pool.ts');
  const server = await startRedis();
  try {
    const store = await openStore(server.url);
    const drafts = pool(size);
    for (let first = 0; first < size; first += 1000) await store.save(drafts.slice(first, first + 1000));
    await store.close();
    const self = import.meta.filename;
    for (const [name, command] of Object.entries({ Bun: ['bun'], Deno: ['deno', 'run', '-A'] })) {
      const [program = '', ...args] = [...command, self, 'read', server.url];
      const results: number[][] = [];
      for (let run = 0; run < runs; run++) {
        const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
        if (stdout === '') throw new Error(stderr);
        results.push(JSON.parse(stdout));
      }
      const [cpu = 0, memory = 0, most = 0] = [0, 1, 2].map((i) => median(results.map((row) => row[i] ?? 0)));
      console.log(
        `${name}, load ${loadavg()[0]?.toFixed(0)}: ${(cpu / 1000).toFixed(2)} s of CPU (${results.map(([ms = 0]) => (ms / 1000).toFixed(2)).join(', ')}), ${memory.toFixed(0)} MiB added, at most ${most.toFixed(0)} MiB`,
      );
    }
  } finally {
    await server.stop();
  }
}

const [first, second] = process.argv.slice(2);
if (first === 'read') await read(second ?? '');
else await compare(Number(first ?? 5), Number(second ?? 200_000));
