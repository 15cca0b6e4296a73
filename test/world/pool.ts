import { createHash } from 'node:crypto';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { type Database, openDatabase } from '../../adapters/sqlite/database.ts';
import { createLastToken } from '../../adapters/sqlite/fences.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { createProxyService, type ProxyService } from '../../src/proxy/service.ts';
import { createSharedSites } from '../../src/proxy/targets/shared-sites.ts';
import { createSites, MOST_SITES } from '../../src/proxy/targets/sites.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { judgeState } from '../support/farm/judge-state.ts';
import { strikeAgain } from './bursts.ts';
import { between, bytes, chance, happens, oneOf, resetChance, whole } from './chance.ts';
import { createRecordsModel, type RecordsModel } from './records-model.ts';
import { CALM, type Course, createSeams, dieHalfway, killNowAndThen } from './seams.ts';
import { as, HOUR, MINUTE, type Mortal, passUntil, pause, resetTime, SECOND, trueTime } from './time.ts';
import type { Result } from './world.ts';

const LIST = { name: 'list', url: 'https://list.example/', format: 'lines', protocol: 'http' } as const;

/** A check that is due waits no longer than this if there is no trouble. */
const LATE_MS = 10 * MINUTE;

/** A working proxy is checked within this time if there is no trouble. */
const STALE_MS = 85 * MINUTE;

/** So often two copies exchange what they know until nothing is left of what they have learnt: fifty sites at a time. */
const MOST_TURNS = 2 * (MOST_SITES / 50 + 1);

/** What a seed decides about its world. */
export interface PoolOptions extends Course {
  copies: number;
  intervalMs: number;
  /** Listed proxies of each kind. */
  listed: number;
  /** Most checks at once. */
  concurrency: number;
  /** How long no judge for TLS answers, from the beginning on. */
  halfBlindMs: number;
}

function drawOptions(): PoolOptions {
  const rate = happens(0.3) ? 0 : 0.001 * 10 ** between(0, 1.5);
  const part = () => rate * (happens(0.3) ? 0 : chance());
  const intervalMs = Math.round(between(15, 40) * MINUTE);
  return {
    intervalMs,
    chaosMs: 2 * intervalMs,
    quietMs: 3 * intervalMs,
    trouble: { refused: part(), lost: part(), late: part(), hangs: part(), death: part() / 20 },
    deathEveryMs: happens(0.5) ? between(20, 60) * MINUTE : Number.POSITIVE_INFINITY,
    halfway: happens(0.5) ? whole(1, 4) : 0,
    deadMs: between(1, 60) * SECOND,
    jumpMs: happens(0.3) ? Math.round((happens(0.7) ? 1 : -1) * MINUTE * 10 ** between(0, 6)) : 0,
    jumpForMs: Math.round(between(1, 60) * MINUTE),
    listed: whole(30, 150),
    concurrency: oneOf([4, 20]),
    halfBlindMs: happens(0.3) ? 9 * intervalMs : 0,
    copies: happens(0.5) ? 1 : 2,
    bursts: rate > 0 && happens(0.6) ? whole(1, 4) : 0,
  };
}

/** A copy with the proxy pool, and with what a gateway has learnt of sites. */
interface PoolCopy extends Mortal {
  service: ProxyService;
  sites: ReturnType<typeof createSites>;
  /** Shares what it has learnt of sites. */
  exchange(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
}

/** What is true of a proxy: when it works, and what the last check of it said. */
interface Truth {
  goodUntil: number;
  tried: number;
  verdict: 'alive' | 'dead' | null;
  at: number;
}

/** Lets a server that has run for long have learnt of as many sites as are kept, so that each new one takes the place of another. */
async function learnBefore(records: RecordsModel): Promise<void> {
  const sites = createSites({ random: chance, shared: true });
  const { state } = records;
  const exchange = createSharedSites({
    ...{ sites, state, locks: createLocalLocks(records.lastToken), isKept: () => false, now: Date.now },
  });
  for (let number = 0; number < MOST_SITES; number++) {
    sites.observe(`site${number}.example`, `socks5://site${number}.example:1`, true);
    if (number % 50 === 49) await exchange();
  }
}

/** Lets a pool live from a seed to its end. Its copies share a real SQLite, as if it were a server. */
export async function runPool(
  seed: number,
  changes: Partial<PoolOptions> = {},
): Promise<Result<PoolOptions>> {
  resetTime();
  resetChance(seed);
  const options = { ...drawOptions(), ...changes };
  const begin = trueTime();
  const trace: string[] = [];
  const tell = (line: string) => void trace.push(`${((trueTime() - begin) / SECOND).toFixed(3)} ${line}`);
  const records = createRecordsModel(trueTime, () => bytes(8).toString('hex'));
  const database: Database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const store = createSqliteProxies(database, { random: chance });
  const lastOfProxies = createLastToken(database);
  const lastToken = () => Math.max(records.lastToken(), lastOfProxies());
  const seams = createSeams(tell, (copy) => {
    copy.isAlive = false;
  });
  seams.repeats = options.copies > 1;
  const truths = new Map<string, Truth>();
  const { listed } = options;
  const entries = Array.from({ length: 2 * listed }, (_, index) => ({
    protocol: index % 2 === 0 ? ('http' as const) : ('socks5' as const),
    ip: `203.0.${index >> 8}.${index & 255}`,
  }));
  for (const { ip } of entries) {
    const life = chance();
    const spanMs = options.chaosMs + options.quietMs;
    // Some work all the time, some for a while, and most never.
    const goodUntil = life < 0.1 ? Number.POSITIVE_INFINITY : begin + (life < 0.35 ? between(0, spanMs) : 0);
    truths.set(ip, { goodUntil, tried: 0, verdict: null, at: 0 });
  }
  const isBlind = () => trueTime() < begin + options.halfBlindMs;
  const broken = new Set<string>();
  const copies: PoolCopy[] = [];
  /** The copies whose refreshes read the list at this moment. */
  const readers = new Set<Mortal>();
  const examined = { tried: 0, listed: 0, sites: 0 };
  const isUntroubled = Object.values(options.trouble).every((rate) => rate === 0);
  let [reads, lives, jumps] = [0, 0, 0];
  let isCalm = false;

  const checker: Checker = {
    refuses: () => false,
    async check({ ip, protocol }) {
      const truth = truths.get(ip);
      if (!truth) throw new Error(`${ip} is on no list`);
      const works = trueTime() < truth.goodUntil;
      await pause(works ? SECOND : 5 * SECOND);
      if (protocol !== 'http' && isBlind()) return { verdict: 'unknown', error: 'judge_down' };
      Object.assign(truth, { tried: truth.tried + 1, verdict: works ? 'alive' : 'dead', at: trueTime() });
      if (!works) return { verdict: 'dead', error: 'timeout' };
      const times = { connectMs: 100, firstByteMs: 300, totalMs: 200 + 2000 * chance() };
      const facts = { exitIp: ip, anonymity: 'elite' as const, tampering: [], proof: 'tls' as const };
      return { verdict: 'alive', ...times, ...facts };
    },
    probe: async () => checker.judges(),
    judges: () =>
      isBlind() ? { ...judgeState('up'), schemes: { http: 'up', https: 'down' } } : judgeState('up'),
    close() {},
  };

  async function live(index: number): Promise<void> {
    for (let life = 1; ; life++) {
      const name = `copy${index}.${life}`;
      const born = createLife(name, life);
      lives++;
      copies[index] = born;
      tell(`${name} runs`);
      while (born.isAlive) await pause(SECOND);
      tell(`${name} is dead`);
      await pause(isCalm ? SECOND : options.deadMs);
    }
  }

  function createLife(name: string, life: number): PoolCopy {
    const self: Mortal = { name, isAlive: true, skewMs: 0 };
    return as(self, () => {
      const state = seams.around('state', records.state);
      const locks = options.copies === 1 ? createLocalLocks(lastToken) : records.locks(seams.ask);
      const service = createProxyService({
        store: seams.around('proxies', store),
        ...{ state, locks, checker, random: chance, clock: systemClock },
        readSource(_source, { onCandidate }) {
          const askedAt = trueTime();
          reads++;
          return seams.ask('list', async () => {
            // What has hung arrives when its refresh has long given up.
            const isAwaited = trueTime() - askedAt < SECOND;
            if (isAwaited && [...readers].some(({ isAlive }) => isAlive && self.isAlive))
              broken.add('two refreshes read the list at once');
            if (isAwaited) readers.add(self);
            await pause(SECOND);
            readers.delete(self);
            for (const { protocol, ip } of entries) onCandidate(protocol, ip, 8080, null, null);
            return { found: entries.length, rejected: 0, bytes: 0, error: null, reached: true };
          });
        },
        sources: [LIST],
        countryOf: () => 'ZZ',
        log(level, message, facts) {
          if (level !== 'debug')
            tell(`${name} says ${level} ${message} ${JSON.stringify(facts ?? {}).slice(0, 120)}`);
        },
        refreshIntervalMs: options.intervalMs,
        refreshOnStart: life === 1,
        refreshBudgetMs: 20 * SECOND,
        concurrency: options.concurrency,
        checksPerHour: 20_000,
        deadRetentionMs: 7 * 24 * HOUR,
        maxPool: 10_000,
      });
      const sites = createSites({ random: chance, shared: true });
      const share = createSharedSites({ sites, state, locks, isKept: () => false, now: Date.now });
      service.start();
      void learn(self, sites, share);
      const exchange = () => as(self, share);
      return Object.assign(self, { service, sites, exchange, stop: () => as(self, () => service.stop()) });
    });
  }

  /** What a gateway learns: each site has a proxy of its own, so that whatever is mixed up shows. */
  async function learn(self: Mortal, sites: PoolCopy['sites'], exchange: () => Promise<void>): Promise<void> {
    const share = () =>
      exchange().catch((error: unknown) => tell(`${self.name} does not exchange: ${error}`));
    await share();
    while (self.isAlive && !isCalm) {
      await pause(MINUTE);
      for (let count = 0; count < 40; count++) {
        const site = `site${whole(0, 2 * MOST_SITES)}.example`;
        sites.observe(site, `socks5://${site}:1`, happens(0.5));
      }
      await share();
      // Looking each minute would cost as much as the rest of the world.
      for (const site of happens(0.3) ? sites.names() : []) {
        for (const proxy of sites.facts(site)?.pairs.keys() ?? []) {
          examined.sites++;
          if (proxy !== `socks5://${site}:1`) broken.add(`${site} has results of ${proxy}`);
        }
      }
    }
  }

  async function jumpOnce(): Promise<void> {
    if (options.jumpMs === 0) return;
    await pause(options.chaosMs * chance() * 0.8);
    const until = trueTime() + options.jumpForMs;
    tell(`the clock jumps by ${options.jumpMs / MINUTE} min`);
    while (trueTime() < until && !isCalm) {
      const [first] = copies;
      if (first && first.skewMs === 0) jumps++;
      if (first) first.skewMs = options.jumpMs;
      await pause(SECOND);
    }
    for (const copy of copies) copy.skewMs = 0;
    tell('the clock is right');
  }

  await learnBefore(records);
  for (let index = 0; index < options.copies; index++) void live(index);
  await passUntil(begin + 10 * SECOND);
  seams.trouble = options.trouble;
  void killNowAndThen(options, () => (isCalm ? null : copies[whole(0, options.copies - 1)]));
  void jumpOnce();
  void strikeAgain({
    ...{ bursts: options.bursts, copies: options.copies, parts: ['records'], tell },
    until: begin + 0.9 * options.chaosMs,
    set: (burst) => {
      seams.burst = burst;
    },
  });
  void dieHalfway(options, seams, ['state.set', 'state.setFenced']);
  await passUntil(begin + options.chaosMs);
  isCalm = true;
  seams.trouble = CALM;
  seams.lastStep = null;
  await passUntil(begin + options.chaosMs + 2 * MINUTE);
  tell('all trouble is over');
  seams.latencyMs = null;
  void learnAtOnce();
  await passUntil(begin + options.chaosMs + options.quietMs);

  // A copy that starts knows nothing but what is written down, perhaps by a wrong clock, and each jumps soon after.
  const fewest = (options.chaosMs + options.quietMs) / (0.9 * options.intervalMs) + lives + jumps + 1;
  if (isUntroubled && reads > fewest) broken.add(`the list was read ${reads} times, with ${lives} starts`);
  for (const copy of copies) void lookBack(copy);
  await passUntil(trueTime() + MINUTE);
  for (const copy of copies) copy.isAlive = false;
  database.close();
  const hash = createHash('sha256').update(trace.join('\n')).digest('hex').slice(0, 12);
  return { seed, options, broken: [...broken], trace, hash, made: truths.size, examined };

  /** What copies learn at the same moment, all of them know once each has shared it. */
  async function learnAtOnce(): Promise<void> {
    const exchangeAll = async (turns: number) => {
      for (let turn = 0; turn < turns; turn++) {
        await Promise.all(copies.map(({ exchange }) => exchange()));
        await pause(MINUTE);
      }
    };
    // What they have learnt before takes the places of what others have.
    await exchangeAll(MOST_TURNS);
    const learnt = copies.flatMap(({ name, sites }) => {
      const own = Array.from({ length: 20 }, (_, number) => `${number}.${name}.example`);
      for (const site of own) sites.observe(site, `socks5://${site}:1`, true);
      return own;
    });
    await exchangeAll(copies.length + 1);
    for (const { name, sites } of copies)
      for (const site of learnt) if (!sites.knows(site)) broken.add(`${name} knows nothing of ${site}`);
  }

  async function lookBack(last: PoolCopy): Promise<void> {
    const unended = `the world does not end for ${last.name}`;
    broken.add(unended);
    const now = trueTime();
    const { intervalMs, quietMs } = options;
    // No check of a listed proxy is planned for later than in 72 minutes.
    const staleMs = quietMs > STALE_MS ? STALE_MS : 2 * HOUR;
    const { lastRefresh, nextRefresh, condition } = await last.service.status();
    const usualMs = 1.2 * intervalMs + 2 * MINUTE;
    if (lastRefresh === null || now - lastRefresh > usualMs || lastRefresh > now + MINUTE) {
      broken.add(`the last refresh was at ${lastRefresh}, and it is ${now} (${condition})`);
    }
    if (nextRefresh === null || nextRefresh > now + usualMs) {
      broken.add(`the next refresh comes at ${nextRefresh}, and it is ${now}`);
    }
    const { samples: chart } = await last.service.overview('day');
    const latest = chart.at(-1)?.at ?? 0;
    if (now - latest > 25 * MINUTE || latest > now + MINUTE)
      broken.add(`the chart ends at ${latest}, and it is ${now}`);
    const { items } = await store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 10_000 });
    const known = new Map(items.map((record) => [record.ip, record]));
    for (const { ip, protocol } of entries) {
      const truth = truths.get(ip);
      if (!truth || (protocol !== 'http' && isBlind())) continue;
      examined.tried++;
      if (truth.tried === 0) broken.add(`${ip} was never tried`);
      const record = known.get(ip);
      if (record?.status === 'alive') examined.listed++;
      if (truth.goodUntil > now && record?.status !== 'alive')
        broken.add(`${ip}, which works, is not listed`);
      if (record?.status === 'alive' && truth.goodUntil < now - staleMs) {
        broken.add(`${ip} is listed, and has not worked for ${staleMs / MINUTE} min`);
      }
    }
    const late = items.filter(({ status, nextCheck }) => status === 'alive' && nextCheck < now - LATE_MS);
    for (const { ip } of late.slice(0, 3))
      broken.add(`${ip} is listed, and its check is overdue by ${LATE_MS / MINUTE} min`);
    broken.delete(unended);
  }
}
