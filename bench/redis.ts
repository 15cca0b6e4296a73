/**
 * Redis against SQLite. `bun bench/redis.ts proxies`: pages of the pool at three sizes, both stores in turn in one
 * process. Times are processor time of this process. `bun bench/redis.ts images [count]`: list and search over a million images. Starts a Redis of its own.
 */
import { randomBytes } from 'node:crypto';
import { openRedis, type RedisConnection } from '../adapters/redis/connection.ts';
import { encodeImage } from '../adapters/redis/image-codec.ts';
import { createRedisImages } from '../adapters/redis/images.ts';
import { createRedisProxies } from '../adapters/redis/proxies.ts';
import { openDatabase } from '../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../adapters/sqlite/proxies.ts';
import { openProxyReplica } from '../adapters/sqlite/proxy-replica.ts';
import type { Protocol } from '../src/proxy/proxy.ts';
import type { ProxyDraft, ProxyQuery, ProxyStore } from '../src/proxy/store.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { draft, image } from '../test/support/records.ts';
import { startRedis } from '../test/support/services.ts';

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

function pool(size: number): ProxyDraft[] {
  const countries = ['US', 'DE', 'CN', 'FR', 'BR', 'ID', 'RU', 'IN', 'JP', 'ZZ'];
  const protocols: Protocol[] = ['http', 'https', 'socks4', 'socks5'];
  return Array.from({ length: size }, (_, index) =>
    draft({
      ip: `${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.1`,
      protocol: protocols[index % 4] ?? 'http',
      country: countries[(index * 7) % 10] ?? 'ZZ',
      status: index % 3 === 0 ? 'alive' : 'dead',
      responseMs: (index * 7919) % 5000,
      uptime: ((index * 104_729) % 1000) / 1000,
    }),
  );
}

/** Processor time of this process in ms: on a busy machine the clock on the wall says little. */
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
    const openReplica = () => openProxyReplica(bunRuntime.openSqlite);
    const local = createSqliteProxies(await openDatabase(bunRuntime.openSqlite, ':memory:'));
    const drafts = pool(size);
    const localMs = await fill(local, drafts);
    const writer = createRedisProxies(redis, openReplica);
    const redisMs = await fill(writer, drafts);
    const shared = createRedisProxies(redis, openReplica);
    const before = cpuMs();
    while ((await shared.summary().catch(() => null))?.total !== size) await Bun.sleep(10);
    const loadMs = cpuMs() - before;
    const rates = { local: [] as number[], shared: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      rates.local.push(await rate(local));
      rates.shared.push(await rate(shared));
    }
    const [l, s] = [median(rates.local), median(rates.shared)];
    console.log(
      `${size} proxies: redis ${s.toFixed(0)}/s, sqlite ${l.toFixed(0)}/s, ratio ${(s / l).toFixed(2)}; ` +
        `save all: redis ${redisMs.toFixed(0)} ms, sqlite ${localMs.toFixed(0)} ms; a new copy reads all in ${loadMs.toFixed(0)} ms`,
    );
    await redis.close();
  }
}

/** Images as `insert` writes them, many at a time. */
async function fillImages(redis: RedisConnection, count: number): Promise<void> {
  const words = [
    'photo',
    'screenshot',
    'IMG',
    'holiday',
    'cat',
    'invoice',
    'scan',
    'diagram',
    'logo',
    'team',
  ];
  for (let first = 0; first < count; first += 5000) {
    const records: string[] = [];
    const listed: (string | number)[] = [];
    const idle: (string | number)[] = [];
    for (let index = first; index < Math.min(first + 5000, count); index++) {
      const id = randomBytes(18).toString('base64').replace(/[+/]/g, 'x').slice(0, 12);
      const filename = `${words[Math.floor(Math.random() * 10)]}_${(index * 7919) % 1_000_003}.jpg`;
      const createdAt = 1_600_000_000_000 + index * 1000;
      const hash = randomBytes(32).toString('hex');
      const record = image({ id, filename, format: 'webp', createdAt, hash, deleteTokenHash: hash });
      records.push(id, encodeImage(record, '01234567'));
      listed.push(-createdAt, id);
      idle.push(createdAt, id);
    }
    await Promise.all([
      redis.call('safe', 'HSET', redis.key('images', 'records'), ...records),
      redis.call('safe', 'ZADD', redis.key('images', 'public'), ...listed),
      redis.call('safe', 'ZADD', redis.key('images', 'idle'), ...idle),
    ]);
  }
}

async function benchImages(url: string, count: number): Promise<void> {
  const redis = await openRedis(url);
  await fillImages(redis, count);
  const memory = String(await redis.call('safe', 'INFO', 'memory')).match(/used_memory_human:(\S+)/)?.[1];
  const images = createRedisImages(redis);
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  const cpuBefore = cpuMs();
  let longest = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last - 5);
    last = performance.now();
  }, 5);
  while (!(await images.list({ text: 'zzz', offset: 0, limit: 1 }).catch(() => null))) await Bun.sleep(10);
  clearInterval(watch);
  const loadMs = cpuMs() - cpuBefore;
  Bun.gc(true);
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  console.log(
    `${count} images: redis holds ${memory}, the index of a copy ${grown.toFixed(0)} MiB, ` +
      `read in ${loadMs.toFixed(0)} ms, longest pause ${longest.toFixed(0)} ms`,
  );
  const time = async (query: { text?: string; offset: number }) => {
    const begun = cpuMs();
    const { total } = await images.list({ ...query, limit: 20 });
    return { ms: cpuMs() - begun, total };
  };
  for (const offset of [0, 999 * 20]) {
    const times: number[] = [];
    for (let turn = 0; turn < 50; turn++) times.push((await time({ offset })).ms);
    console.log(`list page ${offset / 20 + 1}: ${median(times).toFixed(2)} ms`);
  }
  const texts = [
    'holiday_12',
    'photo',
    '9991',
    'IMG_5',
    'Xy7',
    'a',
    'zq',
    '.jpg',
    'cat_77',
    'invoice_100',
    'web',
    'not there',
  ];
  const firsts: number[] = [];
  for (const text of texts) {
    const first = await time({ text, offset: 0 });
    firsts.push(first.ms);
    const again = await time({ text, offset: 20 });
    console.log(
      `search "${text}": ${first.total} found, ${first.ms.toFixed(2)} ms, again ${again.ms.toFixed(2)} ms`,
    );
  }
  const random: number[] = [];
  for (let turn = 0; turn < 200; turn++) {
    const text = randomBytes(9)
      .toString('hex')
      .slice(0, 3 + (turn % 4));
    random.push((await time({ text, offset: 0 })).ms);
  }
  console.log(
    `search, median: ${median(firsts).toFixed(2)} ms of those above, ${median(random).toFixed(2)} ms of 3 to 6 random digits`,
  );
  await redis.close();
}

const [what = 'proxies', count = '1000000'] = process.argv.slice(2);
const server = await startRedis();
try {
  await (what === 'images' ? benchImages(server.url, Number(count)) : benchProxies(server.url));
} finally {
  await server.stop();
}
