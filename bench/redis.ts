/**
 * Redis against SQLite: `bun bench/redis.ts`, pages of the pool at three sizes, both stores in turn in one process. Times
 * are processor time of this process. Starts a Redis of its own.
 */
import { tmpdir } from 'node:os';
import { openRedis } from '../adapters/redis/connection.ts';
import { createRedisProxies } from '../adapters/redis/proxies.ts';
import { openDatabase } from '../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../adapters/sqlite/proxies.ts';
import { openProxyReplica } from '../adapters/sqlite/proxy-replica.ts';
import type { ProxyDraft, ProxyQuery, ProxyStore } from '../src/proxy/store.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { startRedis } from '../test/support/stores/services.ts';
import { pool } from './pool.ts';

const SIZES = [1000, 20_000, 200_000];
const QUERIES: ProxyQuery[] = [
  { filter: { status: 'alive' }, sort: 'dependable', offset: 0, limit: 50 },
  { filter: { status: 'alive', protocol: 'socks5' }, sort: 'dependable', offset: 0, limit: 50 },
  { filter: { status: 'alive', country: 'US' }, sort: 'dependable', offset: 0, limit: 50 },
  { filter: { status: 'alive', protocol: 'http', country: 'DE' }, sort: 'dependable', offset: 0, limit: 50 },
];
const ROUNDS = 5;
const ROUND_MS = 400;

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

/** Processor time of this process in ms, because wall time is unreliable on a busy machine. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Pages per second of processor time, with 16 requests at once as a server has them. */
async function rate(store: ProxyStore): Promise<number> {
  const startedAt = performance.now();
  const cpuBefore = cpuMs();
  let pages = 0;
  const work = async () => {
    for (let turn = 0; performance.now() - startedAt < ROUND_MS; turn++) {
      await store.find(QUERIES[turn % QUERIES.length] ?? (QUERIES[0] as ProxyQuery));
      pages++;
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return (pages / (cpuMs() - cpuBefore)) * 1000;
}

async function fill(store: ProxyStore, drafts: ProxyDraft[]): Promise<number> {
  const before = cpuMs();
  for (let first = 0; first < drafts.length; first += 1000)
    await store.save(drafts.slice(first, first + 1000));
  return cpuMs() - before;
}

async function benchProxies(url: string): Promise<void> {
  for (const size of SIZES) {
    const redis = await openRedis(`${url}?prefix=pool${size}`);
    const openReplica = () => openProxyReplica(bunRuntime, tmpdir());
    const local = createSqliteProxies(await openDatabase(bunRuntime.openSqlite, ':memory:'));
    const drafts = pool(size);
    const localMs = await fill(local, drafts);
    const writer = createRedisProxies(redis, openReplica);
    const redisMs = await fill(writer, drafts);
    const shared = createRedisProxies(redis, openReplica);
    while ((await shared.summary().catch(() => null))?.total !== size) await Bun.sleep(10);
    const rates = { local: [] as number[], shared: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      rates.local.push(await rate(local));
      rates.shared.push(await rate(shared));
    }
    const [l, s] = [median(rates.local), median(rates.shared)];
    console.log(
      `${size} proxies: redis ${s.toFixed(0)}/s, sqlite ${l.toFixed(0)}/s, ratio ${(s / l).toFixed(2)}; ` +
        `save all: redis ${redisMs.toFixed(0)} ms, sqlite ${localMs.toFixed(0)} ms`,
    );
    await redis.close();
  }
}

const server = await startRedis();
try {
  await benchProxies(server.url);
} finally {
  await server.stop();
}
