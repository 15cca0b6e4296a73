/**
 * How true the list stays while proxies come and go. The real service, with its scheduler and its refresh, runs on a
 * real SQLite store in memory; only the clock and the network are simulated. 20,000 proxies work and fail in turns of
 * random length; three days, at most 20,000 checks an hour, judged after the first day. For comparison: a sweep
 * over all of them each hour, which is the same number of checks.
 *
 *     bun bench/churn.ts [seed]
 */
import { createLocalLocks } from '../adapters/local/locks.ts';
import { openDatabase } from '../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../adapters/sqlite/proxies.ts';
import { createSqliteState } from '../adapters/sqlite/state.ts';
import type { Checker } from '../src/proxy/check/checker.ts';
import { createProxyService } from '../src/proxy/service.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { createFakeClock } from '../test/support/fake-clock.ts';
import { judgeState } from '../test/support/judge-state.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PROXIES = 20_000;
const CHECKS_PER_HOUR = 20_000;
/** Left to the refreshes, which look at what is listed once an hour. */
const RECHECKS_PER_HOUR = 19_000;

/** Share of the proxies, mean time working, mean time not working. */
const KINDS = [
  [0.015, 5 * DAY, 2 * HOUR],
  [0.01, 4 * HOUR, 4 * HOUR],
  [0.175, 20 * MINUTE, 5 * HOUR],
  [0.8, 20 * MINUTE, 20 * DAY],
] as const;

const seed = Number(process.argv[2] ?? 1);
const results = [await run('hourly sweep', seed, false), await run('picpool', seed, true)];
console.table(Object.fromEntries(results.map(({ name, ...numbers }) => [name, numbers])));
const picpool = results[1];
const goals =
  picpool &&
  picpool.working >= 0.95 &&
  picpool.first100 >= 0.99 &&
  picpool.listed >= 0.8 &&
  picpool.mostChecksInAnHour <= CHECKS_PER_HOUR;
console.log(goals ? 'All goals are met.' : 'A goal is missed.');
process.exit(goals ? 0 : 1);

async function run(name: string, randomSeed: number, scheduled: boolean) {
  const random = createRandom(randomSeed);
  const clock = createFakeClock(Date.UTC(2026, 0, 1), 2);
  const world = createWorld(random, clock.now());
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const store = createSqliteProxies(database, { random });
  let hour = 0;
  let checksThisHour = 0;
  let most = 0;
  let checks = 0;

  const checker: Checker = {
    async check({ ip }) {
      const now = clock.now();
      if (Math.floor(now / HOUR) !== hour) {
        hour = Math.floor(now / HOUR);
        checksThisHour = 0;
      }
      checks++;
      most = Math.max(most, ++checksThisHour);
      const works = world.works(ip, now);
      await clock.sleep(works ? 1000 : 5000);
      if (!works) return { verdict: 'dead', error: 'timeout' };
      return {
        verdict: 'alive',
        connectMs: 100,
        firstByteMs: 300,
        totalMs: 200 + 2000 * random(),
        exitIp: ip,
        anonymity: 'elite',
        tampering: [],
        proof: 'relayed',
      };
    },
    probe: async () => judgeState('up'),
    judges: () => judgeState('up'),
    close() {},
  };

  const service = createProxyService({
    store,
    state: createSqliteState(database),
    locks: createLocalLocks(),
    checker,
    async readSource(_source, { onCandidate }) {
      for (const ip of world.addresses) onCandidate('http', ip, 8080, null);
      return { found: PROXIES, rejected: 0, bytes: 0, error: null };
    },
    sources: [{ name: 'list', url: 'https://list.example/', format: 'lines', protocol: 'http' }],
    countryOf: () => 'ZZ',
    clock,
    random,
    log: () => {},
    refreshIntervalMs: HOUR,
    refreshOnStart: true,
    refreshBudgetMs: 3 * MINUTE,
    concurrency: 1000,
    rechecksPerHour: RECHECKS_PER_HOUR,
    deadRetentionMs: 7 * DAY,
    maxPool: 200_000,
  });

  await service.refresh({ all: !scheduled });
  await clock.advance(HOUR);
  // The first refresh has used up the checks of the first hour, so the re-checks begin with the second.
  if (scheduled) service.start();
  const seen = { listed: 0, listedWorking: 0, working: 0, first: 0, firstWorking: 0 };
  for (let at = HOUR; at < 3 * DAY; at += 7 * MINUTE) {
    if (Math.floor(at / HOUR) !== Math.floor((at - 7 * MINUTE) / HOUR))
      await service.refresh({ all: !scheduled });
    await clock.advance(7 * MINUTE * 0.2 + 7 * MINUTE * 0.8 * random());
    if (at >= DAY) await look();
    await clock.advance(at + 7 * MINUTE - (clock.now() - Date.UTC(2026, 0, 1)));
  }
  const stopped = service.stop();
  await clock.advance(MINUTE);
  await stopped;
  database.close();
  return {
    name,
    working: round(seen.listedWorking / seen.listed),
    first100: round(seen.firstWorking / seen.first),
    listed: round(seen.listedWorking / seen.working),
    checksPerHour: Math.round(checks / 72),
    mostChecksInAnHour: most,
  };

  async function look(): Promise<void> {
    const now = clock.now();
    const filter = { status: 'alive' } as const;
    const { items } = await service.list({ filter, sort: 'dependable', offset: 0, limit: PROXIES });
    const working = items.map(({ ip }) => (world.works(ip, now) ? 1 : 0));
    const first = working.slice(0, 100);
    seen.listed += items.length;
    seen.listedWorking += sum(working);
    seen.first += first.length;
    seen.firstWorking += sum(first);
    seen.working += world.addresses.filter((ip) => world.works(ip, now)).length;
  }
}

/** Proxies that toggle between working and not at random, without memory. */
function createWorld(random: () => number, startMs: number) {
  const proxies = new Map<string, { up: boolean; until: number; upMs: number; downMs: number }>();
  const lasting = (meanMs: number) => -Math.log(1 - random()) * meanMs;
  for (const [share, upMs, downMs] of KINDS) {
    for (let count = Math.round(share * PROXIES); count > 0; count--) {
      const index = proxies.size;
      const up = random() < upMs / (upMs + downMs);
      const until = startMs + lasting(up ? upMs : downMs);
      proxies.set(`11.0.${index >> 8}.${index & 255}`, { up, until, upMs, downMs });
    }
  }
  return {
    addresses: [...proxies.keys()],
    works(ip: string, now: number): boolean {
      const proxy = proxies.get(ip);
      if (!proxy) return false;
      while (proxy.until <= now) {
        proxy.up = !proxy.up;
        proxy.until += lasting(proxy.up ? proxy.upMs : proxy.downMs);
      }
      return proxy.up;
    },
  };
}

/** mulberry32: the same numbers for the same seed. */
function createRandom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function round(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
