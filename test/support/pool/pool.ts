import { createLocalLocks } from '../../../adapters/local/locks.ts';
import { openDatabase } from '../../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../../adapters/sqlite/proxies.ts';
import { createSqliteState } from '../../../adapters/sqlite/state.ts';
import type { Checker, JudgeState } from '../../../src/proxy/check/checker.ts';
import type { Kind } from '../../../src/proxy/discovery/key.ts';
import {
  type CheckResult,
  type Dialled,
  type Endpoint,
  formatUrl,
  type Protocol,
} from '../../../src/proxy/proxy.ts';
import { createRecorder, type Recorder } from '../../../src/proxy/refresh/recorder.ts';
import type { Scope } from '../../../src/proxy/refresh/round.ts';
import { createProxyService, type ProxyServiceOptions } from '../../../src/proxy/service.ts';
import type { ReadSource } from '../../../src/proxy/sources/read.ts';
import type { Source } from '../../../src/proxy/sources/source.ts';
import type { ProxyDraft } from '../../../src/proxy/store.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { createFakeClock } from '../fake-clock.ts';
import { judgeState } from '../farm/judge-state.ts';
import { draft as anyDraft } from '../stores/records.ts';

export const passed: CheckResult = {
  verdict: 'alive',
  connectMs: 10,
  firstByteMs: 20,
  totalMs: 30,
  exitIp: '192.0.2.200',
  anonymity: 'elite',
  tampering: [],
  proof: 'tls',
};
export const failed: CheckResult = { verdict: 'dead', error: 'timeout' };
export const undecided: CheckResult = { verdict: 'unknown', error: 'judge_down' };

/** A network of which the test decides how it behaves. */
export interface Network extends Checker {
  /** URLs of proxies that work. */
  working: Set<string>;
  judge: JudgeState['state'];
  /** The judges by kind, where they are not all in that state. */
  kinds: JudgeState['schemes'] | null;
  /** URLs in the order in which they were checked. */
  asked: string[];
  /** Called before each check ends; a test may wait in it. */
  before: (endpoint: Endpoint) => Promise<void>;
}

export function createNetwork(): Network {
  const network: Network = {
    working: new Set(),
    judge: 'up',
    kinds: null,
    asked: [],
    before: async () => {},
    async check(endpoint) {
      network.asked.push(formatUrl(endpoint));
      await network.before(endpoint);
      if (network.judge === 'down') return undecided;
      return network.working.has(formatUrl(endpoint)) ? passed : failed;
    },
    refuses: () => false,
    probe: async () => judgeState(network.judge),
    judges: () => {
      const state = judgeState(network.judge);
      return { ...state, schemes: network.kinds ?? state.schemes };
    },
    close() {},
  };
  return network;
}

/** Lists by name: `['http://192.0.2.1:80']`, or an error, whose cause is the number of entries before it. */
export type Lists = Record<string, string[] | Error>;

/**
 * A proxy pool on a real store in memory, with lists, network and time in the hands of the test. `turns`: see
 * `createFakeClock`; two are enough where hours pass and nothing but the pool waits.
 */
export async function createPool(
  lists: Lists = {},
  { turns, ...options }: Partial<ProxyServiceOptions> & { turns?: number } = {},
) {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const store = createSqliteProxies(database);
  const state = createSqliteState(database);
  const locks = createLocalLocks();
  const clock = createFakeClock(undefined, turns);
  const network = createNetwork();
  const sources: Source[] = Object.keys(lists).map((name) => ({
    name,
    url: `https://lists.example/${name}`,
    format: 'lines',
    protocol: null,
  }));
  const readSource: ReadSource = async ({ name }, { onCandidate }) => {
    const list = lists[name] ?? [];
    if (list instanceof Error)
      return { found: Number(list.cause ?? 0), rejected: 0, bytes: 0, error: list.message, reached: false };
    for (const url of list) {
      const { protocol, ip, port, login = null } = endpointOf(url);
      onCandidate(protocol as Kind, ip, port, null, login);
    }
    return { found: list.length, rejected: 0, bytes: 0, error: null, reached: true };
  };
  const all: ProxyServiceOptions = {
    store,
    state,
    locks,
    checker: network,
    readSource,
    sources,
    countryOf: (address) => (address === '192.0.2.200' ? 'DE' : 'ZZ'),
    clock,
    random: () => 0.5,
    log: () => {},
    refreshIntervalMs: 3_600_000,
    refreshOnStart: true,
    refreshBudgetMs: 180_000,
    concurrency: 10,
    deadRetentionMs: 7 * 86_400_000,
    maxPool: 200_000,
    ...options,
  };
  const service = createProxyService(all);
  return {
    service,
    store,
    state,
    locks,
    clock,
    network,
    options: all,
    /** Refreshes and waits for the end. */
    async refresh(scope?: Scope) {
      await service.refresh(scope);
      return ended();
    },
    ended,
    /** Stops the pool, while the time goes on for what it still waits for. */
    async close() {
      const stopped = service.stop();
      await clock.advance(20_000);
      await stopped;
      database.close();
    },
  };

  /** Lets the time pass until no refresh runs. */
  async function ended() {
    for (;;) {
      const job = await service.currentRefresh();
      if (job.state !== 'running') return job;
      await clock.advance(50);
    }
  }
}

/** The parts of `http://192.0.2.1:80`, or of `http://user:password@192.0.2.1:80`. */
export function endpointOf(url: string): Dialled {
  const [protocol = '', rest = ''] = url.split('://');
  const [place = '', login] = rest.split('@').reverse();
  const [ip = '', port = ''] = place.split(':');
  return { protocol: protocol as Protocol, ip, port: Number(port), ...(login !== undefined && { login }) };
}

/** A record to save: alive and checked once at `now`, unless told otherwise. */
export function draft(url: string, now: number, changes: Partial<ProxyDraft> = {}): ProxyDraft {
  return anyDraft({
    ...endpointOf(url),
    ...{ country: 'ZZ', source: 'a', responseMs: 100, exitIp: null, recent: 1 },
    ...{ firstSeen: now, lastChecked: now, lastAlive: now, nextCheck: now },
    ...{ checks: 1, successes: 1, run: 1, runSince: now, uptimeWeight: 0.5 },
    ...changes,
  });
}

/** What writes the outcomes of checks down. Default price of a check: 20 s. */
export function recorderOf(
  parts: Pick<Parameters<typeof createRecorder>[0], 'store' | 'clock'>,
  checkCostMs = () => 20_000,
): Recorder {
  return createRecorder({ ...parts, random: () => 0.5, countryOf: () => 'ZZ', checkCostMs });
}
