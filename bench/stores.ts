/**
 * How the pool in SQLite behaves as it grows: `bun bench/stores.ts`, in a temporary folder. Absolute times depend on the
 * machine; the ratios should stay as they are. Images have a bench of their own, `searches.ts`.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createLocalRateLimiter } from '../adapters/local/rate-limiter.ts';
import { type Database, openDatabase } from '../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../adapters/sqlite/proxies.ts';
import { PROTOCOLS, type ProxyFilter } from '../src/proxy/proxy.ts';
import type { ProxyDraft, ProxyStore } from '../src/proxy/store.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { draft } from '../test/support/stores/records.ts';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The same numbers in every run. */
let seed = 1;
function random(): number {
  seed = (seed * 48271) % 2147483647;
  return seed / 2147483647;
}
const below = (limit: number) => Math.floor(random() * limit);

async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function median(turns: number, work: (turn: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    times.push(await timeMs(() => work(turn)));
    await setImmediate();
  }
  return times.sort((a, b) => a - b)[turns >> 1] ?? 0;
}

function print(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(64)} ${value}\n`);
}
const ms = (value: number) => `${value.toFixed(value < 1 ? 3 : 1)} ms`;

/** A pool as refreshes leave it: 2 % alive, 5 % alive at some time, the rest never. */
function proxyDraft(index: number): ProxyDraft {
  const kind = (index * 2654435761) % 1000;
  const ever = kind < 70;
  const alive = kind < 20 ? random() < 0.9 : ever && random() < 0.1;
  const country = `${LETTERS[10 + (index % 26)]}${LETTERS[10 + ((index * 7) % 5)]}`;
  return draft({
    protocol: PROTOCOLS[index % 4] ?? 'http',
    ip: `${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.7`,
    country,
    source: `list-${index % 20}`,
    status: alive ? 'alive' : 'dead',
    responseMs: ever ? random() * 5000 : null,
    anonymity: alive ? 'elite' : null,
    uptime: ever ? random() : 0,
    nextCheck: 1_700_000_000_000 + below(1e9),
    lastChecked: 1_700_000_000_000 + below(1e9),
  });
}

async function grow(
  proxies: ProxyStore,
  from: number,
  to: number,
): Promise<{ all: number; longest: number }> {
  let [all, longest] = [0, 0];
  for (let start = from; start < to; start += 500) {
    const batch = Array.from({ length: Math.min(500, to - start) }, (_, index) => proxyDraft(start + index));
    const took = await timeMs(() => proxies.save(batch));
    all += took;
    longest = Math.max(longest, took);
    await setImmediate();
  }
  return { all, longest };
}

async function benchProxies(database: Database): Promise<void> {
  const proxies = createSqliteProxies(database);
  const filters: [string, ProxyFilter][] = [
    ['all', {}],
    ['alive', { status: 'alive' }],
    ['country and protocol', { country: 'BA', protocol: 'http' }],
    ['anonymity, response time, uptime', { anonymity: 'elite', maxResponseMs: 1000, minUptime: 0.5 }],
    ['alive, and those', { status: 'alive', anonymity: 'elite', maxResponseMs: 1000, minUptime: 0.5 }],
  ];
  const first = new Map<string, number>();
  let size = 0;
  for (const next of [1000, 20_000, 200_000]) {
    await grow(proxies, size, next);
    size = next;
    for (const [name, filter] of filters) {
      const time = await median(100, () =>
        proxies.find({ filter, sort: 'dependable', offset: 0, limit: 50 }),
      );
      if (!first.has(name)) first.set(name, time);
      print(
        `find(50), ${name}, of ${next}`,
        `${ms(time)}, x ${(time / (first.get(name) ?? time)).toFixed(1)}`,
      );
    }
  }
  const sample = { status: 'alive' } as const;
  print('sample(100), alive, of 200000', ms(await median(50, () => proxies.sample(sample, 100))));
  print('sample(500), all, of 200000', ms(await median(50, () => proxies.sample({}, 500))));
  print(
    'find(50) by response time, alive',
    ms(await median(50, () => proxies.find({ filter: sample, sort: 'response_time', offset: 0, limit: 50 }))),
  );
  print('summary', ms(await median(100, () => proxies.summary())));
  print('version', ms(await median(1000, async () => proxies.version())));
  print('due(500)', ms(await median(50, () => proxies.due(1_700_000_900_000, 500, 'dead'))));
  const again = await grow(proxies, 0, 100_000);
  print('save 100000 known in batches of 500, each', ms(again.all / 200));
  print('  longest stop of the event loop', ms(again.longest));
  const fresh = await grow(proxies, 200_000, 300_000);
  print('save 100000 new in batches of 500, each', ms(fresh.all / 200));
  print('  longest stop of the event loop', ms(fresh.longest));
  const stops = watchStops();
  const all = await timeMs(async () => {
    for await (const _ of proxies.stream({})) await setImmediate();
  });
  print('stream 300000', `${ms(all)}, longest stop ${ms(await stops())}`);
  print('evict 1000', ms(await timeMs(() => proxies.evict(299_000))));
}

/** Watches the event loop. The returned function ends that and returns the longest stop in ms. */
function watchStops(): () => Promise<number> {
  let watching = true;
  let longest = 0;
  const watch = (async () => {
    while (watching) longest = Math.max(longest, await timeMs(() => setImmediate()));
    return longest;
  })();
  return () => {
    watching = false;
    return watch;
  };
}

async function benchLimiter(): Promise<void> {
  const limiter = createLocalRateLimiter({ now: Date.now });
  const keys = Array.from({ length: 10_000 }, (_, index) => `192.0.${index >> 8}.${index & 255}`);
  const took = await timeMs(async () => {
    for (let index = 0; index < 1e6; index++) {
      await limiter.take(keys[index % keys.length] ?? '', { capacity: 60, perSecond: 1 });
    }
  });
  print('rate limiter, one take', `${(took / 1000).toFixed(2)} us`);
}

const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-'));
try {
  await benchLimiter();
  const path = join(folder, 'proxies.db');
  const database = await openDatabase(bunRuntime.openSqlite, path);
  await benchProxies(database);
  database.close();
  print('size of the file', `${((await stat(path)).size / 2 ** 20).toFixed(0)} MiB`);
} finally {
  await rm(folder, { recursive: true });
}
