/**
 * How true the list stays while proxies come and go. The real service, with its scheduler and its refresh, runs on a
 * real SQLite store in memory; only the clock and the network are simulated. 20,000 proxies work and fail in turns of
 * random length; three days, at most 20,000 checks an hour, judged after the first day. For comparison: a sweep
 * over all of them each hour, which is the same number of checks.
 *
 *     bun bench/churn.ts [--share 1] [seed] [model ...]
 *
 * `model`: what the world is like, `usual` when none is named; see `MODELS`. One takes two to six minutes; with a share of 0.1 it has a
 * tenth of the proxies and of the checks, takes a tenth of the time, and varies by 0.01 from seed to seed.
 */
import { parseArgs } from 'node:util';
import { createLocalLocks } from '../adapters/local/locks.ts';
import { openDatabase } from '../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../adapters/sqlite/proxies.ts';
import { createSqliteState } from '../adapters/sqlite/state.ts';
import type { Checker } from '../src/proxy/check/checker.ts';
import { createProxyService } from '../src/proxy/service.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { createFakeClock } from '../test/support/fake-clock.ts';
import { judgeState } from '../test/support/farm/judge-state.ts';
import { createRandom } from '../test/support/random.ts';
import { createWorld, DAY, HOUR, KINDS, type Kind, MINUTE, SERVICE, type World } from './churn/world.ts';

const CHECKS_PER_HOUR = 20_000;
/** Less than the maximum, because checks not used in one minute are made up for in the next. */
const PACE = 19_650;
/** When what a model does happens. */
const EVENT_AT = 40 * HOUR;

interface Model {
  about: string;
  proxies: number;
  kinds: readonly Kind[];
  /** The best 256 of the first 300 stop working for six hours. */
  block?: boolean;
  /** How long no judge answers; with `offline` no list does either. */
  outageMs?: number;
  offline?: boolean;
}

const MODELS: Record<string, Model> = {
  usual: { about: 'as on public lists', proxies: 20_000, kinds: KINDS },
  brief: {
    about: 'all times halved',
    proxies: 20_000,
    kinds: KINDS.map(([share, upMs, downMs]) => [share, upMs / 2, downMs / 2]),
  },
  unstable: { about: 'none works for more than minutes', proxies: 20_000, kinds: KINDS.slice(2) },
  often: {
    about: 'a fifth works for 20 minutes and then not for an hour',
    proxies: 20_000,
    kinds: [[0.2, 20 * MINUTE, HOUR], ...KINDS.slice(3)],
  },
  barren: {
    about: '120,000, of which 90 % never work',
    proxies: 120_000,
    kinds: KINDS.slice(0, 3).map(([share, ...times]) => [share / 2, ...times]),
  },
  block: { about: '256 of the best 300 away for 6 h', proxies: 20_000, kinds: KINDS, block: true },
  outage: { about: 'no judge for 2 h', proxies: 20_000, kinds: KINDS, outageMs: 2 * HOUR },
  offline: {
    about: 'our own network down for 1 h',
    proxies: 20_000,
    kinds: KINDS,
    outageMs: HOUR,
    offline: true,
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { share: { type: 'string', default: '1' } },
});
const [seed = '1', ...names] = positionals;
const share = Number(values.share);
const rows: Record<string, object> = {};
let goals = true;
for (const name of names.length > 0 ? names : ['usual']) {
  const model = MODELS[name];
  if (!model) throw new Error(`There is no model ${name}: ${Object.keys(MODELS).join(', ')}.`);
  const picpool = await run(model, Number(seed), true);
  rows[`${name}: picpool`] = picpool;
  console.log(`${name}: ${model.about}: ${JSON.stringify(picpool)}`);
  if (name !== 'usual') continue;
  rows[`${name}: hourly sweep`] = await run(model, Number(seed), false);
  goals =
    picpool.working >= 0.95 &&
    picpool.first100 >= 0.99 &&
    picpool.listed >= 0.8 &&
    picpool.mostChecksInAnHour <= share * CHECKS_PER_HOUR;
}
console.table(rows);
console.log(goals ? 'All goals are met.' : 'A goal is missed.');
process.exit(goals ? 0 : 1);

async function run(model: Model, randomSeed: number, scheduled: boolean) {
  const random = createRandom(randomSeed);
  const clock = createFakeClock(Date.UTC(2026, 0, 1), 2);
  const startedAt = clock.now();
  const count = Math.round(share * model.proxies);
  const world = createWorld(model.kinds, count, random, startedAt);
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const store = createSqliteProxies(database, { random });
  const network = createNetwork(world, random, clock);

  const service = createProxyService({
    store,
    state: createSqliteState(database),
    locks: createLocalLocks(),
    checker: network.checker,
    async readSource(_source, { onCandidate }) {
      if (network.isOffline)
        return { found: 0, rejected: 0, bytes: 0, error: 'could not be reached', reached: false };
      for (const ip of world.addresses) onCandidate('socks5', ip, 8080, null, null);
      return { found: count, rejected: 0, bytes: 0, error: null, reached: true };
    },
    sources: [{ name: 'list', url: 'https://list.example/', format: 'lines', protocol: 'socks5' }],
    clock,
    random,
    checksPerHour: share * PACE,
    ...SERVICE,
  });

  await service.refresh({ all: !scheduled, overdraws: !scheduled });
  await clock.advance(HOUR);
  // The first refresh has used up the checks of the first hour, so the rechecks begin with the second.
  if (scheduled) service.start();
  const seen = { listed: 0, listedWorking: 0, working: 0, first: 0, firstWorking: 0, leastWorking: 1 };
  let outage = {};
  for (let at = HOUR; at < 3 * DAY; at += 7 * MINUTE) {
    if (Math.floor(at / HOUR) !== Math.floor((at - 7 * MINUTE) / HOUR))
      await service.refresh({ all: !scheduled, overdraws: !scheduled });
    await clock.advance(7 * MINUTE * 0.2 + 7 * MINUTE * 0.8 * random());
    if (at <= EVENT_AT && EVENT_AT < at + 7 * MINUTE) await happen();
    if (at >= DAY) await look();
    await clock.advance(Math.max(0, at + 7 * MINUTE - (clock.now() - startedAt)));
  }
  const stopped = service.stop();
  await clock.advance(MINUTE);
  await stopped;
  database.close();
  return {
    working: round(seen.listedWorking / seen.listed),
    leastWorking: round(seen.leastWorking),
    first100: round(seen.firstWorking / seen.first),
    listed: round(seen.listedWorking / seen.working),
    ...outage,
    checksPerHour: Math.round(network.checks() / 72),
    mostChecksInAnHour: network.mostInAnHour(),
  };

  async function happen(): Promise<void> {
    const now = clock.now();
    if (model.block)
      world.block(
        (await listed())
          .slice(0, share * 300)
          .filter((_, n) => n % 7 !== 0)
          .slice(0, share * 256),
        now + 6 * HOUR,
      );
    if (model.outageMs === undefined) return;
    const before = await state();
    network.judge = 'down';
    network.isOffline = model.offline ?? false;
    await clock.advance(model.outageMs);
    network.judge = 'up';
    network.isOffline = false;
    // A failed refresh is retried within five minutes, and may check for three.
    await clock.advance(10 * MINUTE);
    const after = await state();
    outage = {
      beforeOutage: before.working,
      afterOutage: after.working,
      listedBefore: before.listed,
      listedAfter: after.listed,
    };
  }

  /** Returns how much of the list works, and how much of what works is listed. */
  async function state(): Promise<{ working: number; listed: number }> {
    const now = clock.now();
    const working = sum((await listed()).map((ip) => (world.works(ip, now) ? 1 : 0)));
    const all = world.addresses.filter((ip) => world.works(ip, now)).length;
    return { working: round(working / (await listed()).length), listed: round(working / all) };
  }

  async function listed(): Promise<string[]> {
    const filter = { status: 'alive' } as const;
    const { items } = await service.list({ filter, sort: 'dependable', offset: 0, limit: count });
    return items.map(({ ip }) => ip);
  }

  async function look(): Promise<void> {
    const now = clock.now();
    const working = (await listed()).map((ip) => (world.works(ip, now) ? 1 : 0));
    const first = working.slice(0, 100);
    seen.leastWorking = Math.min(seen.leastWorking, sum(working) / working.length);
    seen.listed += working.length;
    seen.listedWorking += sum(working);
    seen.first += first.length;
    seen.firstWorking += sum(first);
    seen.working += world.addresses.filter((ip) => world.works(ip, now)).length;
  }
}

/** A check takes a second if the proxy works, otherwise five. */
function createNetwork(world: World, random: () => number, clock: ReturnType<typeof createFakeClock>) {
  let hour = 0;
  let checksThisHour = 0;
  let most = 0;
  let checks = 0;
  const network: {
    judge: 'up' | 'down';
    /** No list can be reached. */
    isOffline: boolean;
    checks: () => number;
    mostInAnHour: () => number;
    checker: Checker;
  } = {
    judge: 'up',
    isOffline: false,
    checks: () => checks,
    mostInAnHour: () => most,
    checker: {
      refuses: () => false,
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
        if (network.judge === 'down') return { verdict: 'unknown', error: 'judge_down' };
        if (!works) return { verdict: 'dead', error: 'timeout' };
        return {
          verdict: 'alive',
          connectMs: 100,
          firstByteMs: 300,
          totalMs: 200 + 2000 * random(),
          exitIp: ip,
          anonymity: 'elite',
          tampering: [],
          proof: 'tls',
        };
      },
      probe: async () => judgeState(network.judge),
      judges: () => judgeState(network.judge),
      close() {},
    },
  };
  return network;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function round(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
