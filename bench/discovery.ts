/**
 * Whether the pool finds what lists name when they name ten times more than it holds. The real service, with its
 * scheduler and its refresh, runs on a real SQLite store in memory; only the clock and the network are simulated.
 * Six lists, whose order changes with each reading, name 2,000,000 proxies of which 1 % work at any moment, as those of
 * `churn.ts` do; the pool holds 200,000; four days at 100,000 checks an hour.
 *
 *     bun bench/discovery.ts [seed] [millions] [hours] [minutes]
 *
 * All four days of two millions take 30 to 40 minutes. After `minutes` it ends with what it has seen until then.
 */
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
import { addressOf, createWorld, HOUR, indexOf, KINDS, type Kind, MINUTE, SERVICE } from './churn/world.ts';

const [seed = 1, millions = 2, hours = 96, minutes = Number.POSITIVE_INFINITY] = process.argv
  .slice(2)
  .map(Number);
const PROXIES = Math.round(millions * 1e6);
const MAX_POOL = PROXIES / 10;
const CHECKS_PER_HOUR = PROXIES / 20;
/** Parts of all that each list names; together they name some twice. */
const LISTS = [
  [0, 0.45],
  [0.43, 0.74],
  [0.72, 0.87],
  [0.85, 0.95],
  [0.92, 0.98],
  [0.95, 1],
] as const;

const upShare = KINDS.reduce((sum, [share, up, down]) => sum + (share * up) / (up + down), 0);
const kinds = KINDS.map(([share, up, down]): Kind => [(share * 0.01) / upShare, up, down]);
const random = createRandom(seed);
const clock = createFakeClock(Date.UTC(2026, 0, 1), 2);
const startedAt = clock.now();
const world = createWorld(kinds, PROXIES, random, startedAt);
/** Maps proxies to places in the lists, so that working ones are spread over all. */
const placeOf = shuffled(PROXIES);
const firstTried = new Float64Array(PROXIES).fill(-1);
let untried = PROXIES;
let checks = 0;
let checksThisHour = 0;
let mostInAnHour = 0;

const checker: Checker = {
  refuses: () => false,
  async check({ ip }) {
    const now = clock.now();
    checks++;
    checksThisHour++;
    const index = indexOf(ip);
    if (firstTried[index] === -1) {
      firstTried[index] = (now - startedAt) / HOUR;
      untried--;
    }
    const works = world.works(ip, now);
    await clock.sleep(works ? 1000 : 5000);
    if (!works) return { verdict: 'dead', error: 'timeout' };
    const totalMs = 200 + 2000 * random();
    const exitIp = ip;
    return {
      verdict: 'alive',
      connectMs: 100,
      firstByteMs: 300,
      totalMs,
      exitIp,
      anonymity: 'elite',
      tampering: [],
      proof: 'tls',
    };
  },
  probe: async () => judgeState('up'),
  judges: () => judgeState('up'),
  close() {},
};

const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
const store = createSqliteProxies(database, { random });
const service = createProxyService({
  store,
  state: createSqliteState(database),
  locks: createLocalLocks(),
  checker,
  async readSource({ name }, { onCandidate }) {
    const [from, to] = LISTS[Number(name)] ?? [0, 0];
    const [first, count] = [Math.floor(from * PROXIES), Math.floor((to - from) * PROXIES)];
    const turn = Math.floor(random() * count);
    for (let n = 0; n < count; n++) {
      onCandidate('socks5', addressOf(placeOf[first + ((n + turn) % count)] ?? 0), 8080, null, null);
      if (n % 50_000 === 0) await new Promise(setImmediate);
    }
    return { found: count, rejected: 0, bytes: 0, error: null, reached: true };
  },
  sources: LISTS.map((_, index) => ({
    name: String(index),
    url: `https://list${index}.example/`,
    format: 'lines',
    protocol: 'socks5',
  })),
  clock,
  random,
  checksPerHour: CHECKS_PER_HOUR,
  ...SERVICE,
  maxPool: MAX_POOL,
});

const mostlyUp = world.addresses.filter((ip) => world.isMostlyUp(ip));
const after = { listed: 0, listedWorking: 0, up: 0, upListed: 0, looks: 0, all: 0, allWorking: 0 };
let firstPassAt = 0;
let largest = 0;
let memory = 0;
let simulated = 0;
service.start();
for (let hour = 0; hour < hours && performance.now() < minutes * MINUTE; hour++) {
  simulated = hour + 1;
  checksThisHour = 0;
  await service.refresh({ all: false });
  const before = 20 * MINUTE + 30 * MINUTE * random();
  await clock.advance(before);
  await look(hour);
  await clock.advance(startedAt + (hour + 1) * HOUR - clock.now());
  mostInAnHour = Math.max(mostInAnHour, checksThisHour);
  if (untried === 0 && firstPassAt === 0) firstPassAt = firstTried.reduce((a, b) => Math.max(a, b), 0);
}
const stopped = service.stop();
await clock.advance(MINUTE);
await stopped;

const result = {
  'hours simulated': simulated,
  'hours until all were tried': firstPassAt ? round(firstPassAt) : `${untried} are left`,
  'of those up half of the time or more, listed while up': round(after.upListed / after.up),
  'of what is listed, works': round(after.listedWorking / after.listed),
  'of all that works, listed': round(after.listedWorking / after.allWorking),
  'listed, mean': Math.round(after.listed / after.looks),
  'largest pool': largest,
  'checks an hour': Math.round(checks / simulated),
  'most checks in an hour': mostInAnHour,
  'memory, MB': Math.round(memory / 2 ** 20),
};
console.table(result);
const goals =
  firstPassAt > 0 &&
  firstPassAt <= 30 &&
  after.upListed / after.up >= 0.9 &&
  after.listedWorking / after.listed >= 0.95;
console.log(goals ? 'All goals are met.' : 'A goal is missed.');
process.exit(goals ? 0 : 1);

async function look(hour: number): Promise<void> {
  const now = clock.now();
  const listed = new Set<string>();
  let working = 0;
  for await (const batch of store.endpoints({ status: 'alive' })) {
    for (const { ip } of batch) {
      listed.add(ip);
      if (world.works(ip, now)) working++;
    }
  }
  const up = mostlyUp.filter((ip) => world.works(ip, now));
  const upListed = up.filter((ip) => listed.has(ip)).length;
  const { total } = await service.stats();
  largest = Math.max(largest, total);
  memory = Math.max(memory, process.memoryUsage.rss());
  const row = [
    `hour ${hour}`,
    `untried ${untried}`,
    `listed ${listed.size}`,
    `works ${round(working / listed.size)}`,
    `mostly up ${round(upListed / up.length)}`,
    `pool ${total}`,
    `checks ${checks}`,
  ];
  console.log(row.join(', '));
  if (untried > 0) return;
  after.looks++;
  after.listed += listed.size;
  after.listedWorking += working;
  after.up += up.length;
  after.upListed += upListed;
  after.allWorking += world.addresses.reduce((sum, ip) => sum + (world.works(ip, now) ? 1 : 0), 0);
}

/** Returns 0 to count - 1 in random order. */
function shuffled(count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
  }
  return order;
}

function round(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
