import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Locks } from '../lib/locks.ts';
import type { Log } from '../lib/logger.ts';
import { every, type Repetition } from '../lib/schedule.ts';
import type { StateStore } from '../lib/state.ts';
import { createBlindTests } from './check/blind-test.ts';
import type { Checker } from './check/checker.ts';
import { createSharedJudges } from './check/shared-judges.ts';
import { createSingleChecks, type SingleCheckOptions, type SingleChecks } from './check/single-check.ts';
import { createCheckBudget } from './check-budget.ts';
import { type CountryCount, createCountryCounts } from './country-counts.ts';
import { createDiscovery } from './discovery/discovery.ts';
import { createPass } from './discovery/pass.ts';
import { createTrials } from './discovery/trials.ts';
import { createExitFilter, type ExportQuery, exportProxies } from './export.ts';
import { createFleetBudget } from './fleet-budget.ts';
import { createLogins } from './logins.ts';
import { createPoolHistory, type PoolSample } from './pool-history.ts';
import { PROTOCOLS, type ProxyFilter, type ProxyRecord, type Sort, STATUSES } from './proxy.ts';
import { createEchoedRecall } from './recheck/echoed.ts';
import { runRechecks } from './recheck/recheck.ts';
import { nextRefreshAt } from './refresh/due.ts';
import { createProgress, type RefreshJob } from './refresh/progress.ts';
import { createRecorder } from './refresh/recorder.ts';
import { createRefresh, type RefreshObserver } from './refresh/refresh.ts';
import type { Scope } from './refresh/round.ts';
import { lookUpHealth, retrySource } from './refresh/source-health.ts';
import { hostOfTarget, withReport } from './reports.ts';
import type { ReadSource } from './sources/read.ts';
import type { Source } from './sources/source.ts';
import type { PoolStatus, SourceStatus } from './status.ts';
import type { PoolSummary, ProxyQuery, ProxyStore } from './store.ts';

export interface ProxyServiceOptions {
  store: ProxyStore;
  state: StateStore;
  locks: Locks;
  checker: Checker;
  /** The same where nobody counts why checks fail, for tests by strangers; `checker` when not given. */
  uncounted?: Checker;
  readSource: ReadSource;
  sources: readonly Source[];
  /** Two upper-case letters, `ZZ` where it is not known. */
  countryOf: (address: string) => string;
  clock: Clock;
  /** 0 to 1. */
  random: () => number;
  log: Log;
  /** Time between refreshes. */
  refreshIntervalMs: number;
  /** Refresh at start, unless the last refresh is younger than the interval. */
  refreshOnStart: boolean;
  /** How long one refresh may check. */
  refreshBudgetMs: number;
  /** Checks at once. */
  concurrency: number;
  /** Checks an hour, all together; 100,000 when not given. */
  checksPerHour?: number;
  deadRetentionMs: number;
  maxPool: number;
  /** Counts tests of addresses against their limits; not limited when not given. */
  countTarget?: SingleCheckOptions['countTarget'];
  observers?: readonly RefreshObserver[];
}

/** The proxy pool. Failures of the storage reject with `AppError('unavailable')`. */
export interface ProxyService {
  list(query: ProxyQuery): Promise<{ items: ProxyRecord[]; total: number }>;
  /** Like `list`, drawn at random. */
  sample(filter: ProxyFilter, limit: number): Promise<{ items: ProxyRecord[]; total: number }>;
  /** Of the matches with one exit address only the most dependable. */
  unique(query: Omit<ProxyQuery, 'sort'> & { sort: Sort | 'random' }): Promise<{
    items: ProxyRecord[];
    total: number;
  }>;
  /** All matches as text, in pieces of some hundred. */
  export(query: ExportQuery): AsyncIterable<string>;
  stats(): Promise<{ alive: number; total: number; avg_response_time: number; countries: number }>;
  /** What is drawn of the pool: its numbers, the living by country, and how it was over the last two days. */
  overview(): Promise<PoolOverview>;
  filters(): Promise<{ protocols: readonly string[]; countries: string[]; statuses: readonly string[] }>;
  status(): Promise<PoolStatus>;
  /** @throws {AppError} `not_found` */
  get(id: number): Promise<ProxyRecord>;
  /** Checks now; see `SingleChecks.now`. */
  testQuick: SingleChecks['now'];
  /** Starts a check of a known proxy; see `SingleChecks.start`. */
  startTest: SingleChecks['start'];
  /**
   * Hears from a user whether a proxy worked. A report that it did not moves its next check forward; it never
   * changes the status.
   * @throws {AppError} `not_found`
   */
  report(id: number, report: UserReport): Promise<ProxyRecord>;
  /**
   * Starts a refresh, or joins the one that runs. It also checks the dead that are not due yet, as far as its time
   * goes, unless told otherwise.
   */
  refresh(scope?: Scope): Promise<RefreshJob>;
  /**
   * The same for a stranger: a refresh that went well less than ten minutes ago, or less than the interval, is answered
   * instead of a new one.
   */
  refreshUnlessFresh(): Promise<RefreshJob>;
  /** What is known of each list, in the order of the configuration. */
  sources(): Promise<SourceStatus[]>;
  /**
   * Ends the pause of a list: the next refresh reads it.
   * @throws {AppError} `not_found`
   */
  retrySource(name: string): Promise<SourceStatus>;
  /** The refresh that runs, or else the last one. */
  currentRefresh(): Promise<RefreshJob>;
  /** Calls back when the refresh moves on, of whatever copy it is; answers how to stop that. */
  subscribe(listener: (job: RefreshJob) => void): () => void;
  /** Changes whenever an answer about the pool may. */
  version(): string | Promise<string>;
  /** Aborts when endless answers are to end. */
  readonly stopping: AbortSignal;
  /** Ends endless answers; everything else goes on. */
  endStreams(): void;
  /** Starts the hourly refresh and the re-checks. */
  start(): void;
  /** Stops all that runs; what was checked is saved. */
  stop(): Promise<void>;
}

export interface UserReport {
  ok: boolean;
  /** What the user wanted to reach: a URL or a host, of which the host is kept. */
  target?: string | undefined;
  error?: string | undefined;
}

export interface PoolOverview {
  summary: PoolSummary;
  countries: CountryCount[];
  samples: PoolSample[];
}

/** Least time between the last check of a proxy and one that a report asks for. */
const REPORT_GAP_MS = 30_000;
/** How often it is looked up whether a refresh is due, or its process has died. */
const MOST_TICK_MS = 5_000;
const CHECKS_PER_HOUR = 100_000;
/** After a refresh that went well, strangers start none for this long. */
const FRESH_MS = 10 * 60_000;

const ORDERS: Record<Exclude<Sort, 'dependable'>, (a: ProxyRecord, b: ProxyRecord) => number> = {
  response_time: (a, b) => (a.responseMs ?? Infinity) - (b.responseMs ?? Infinity) || a.id - b.id,
  last_checked: (a, b) => b.lastChecked - a.lastChecked || a.id - b.id,
  first_seen: (a, b) => b.firstSeen - a.firstSeen || a.id - b.id,
};

/** Fisher and Yates. */
function shuffle(records: ProxyRecord[], random: () => number): void {
  for (let last = records.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const [a, b] = [records[last], records[other]];
    if (a && b) [records[last], records[other]] = [b, a];
  }
}

export function createProxyService(options: ProxyServiceOptions): ProxyService {
  const { store, checker, clock, log, refreshIntervalMs } = options;
  const stopping = new AbortController();
  const streams = new AbortController();
  const budget = createCheckBudget(clock, options.checksPerHour ?? CHECKS_PER_HOUR);
  const newId = () => `${clock.now().toString(36)}${Math.floor(options.random() * 36 ** 4).toString(36)}`;
  const recorder = createRecorder({ ...options, checkCostMs: () => budget.checkCostMs });
  const progress = createProgress(options);
  const logins = createLogins();
  const tryEntry = createTrials({ checker, recorder, budget, logins, sources: options.sources });
  const pass = createPass(options.state, options.random, clock.now());
  const discovery = createDiscovery({
    checker,
    tryEntry,
    budget,
    pass,
    clock,
    log,
    // The re-checks of the same process have as many.
    concurrency: Math.ceil(options.concurrency / 2),
    isLatest: async (id) => (await progress.saved()).id === id,
  });
  const refresh = createRefresh({
    ...options,
    recorder,
    progress,
    budget,
    pass,
    logins,
    discovery,
    tryEntry,
    budgetMs: options.refreshBudgetMs,
    newId,
  });
  const single = createSingleChecks({
    ...options,
    recorder,
    blind: createBlindTests({
      checker: options.uncounted ?? checker,
      clock,
      signal: stopping.signal,
    }),
    signal: stopping.signal,
    onError: (error) => log('warn', 'test not completed', { error }),
  });
  const countCountries = createCountryCounts(store, clock);
  const history = createPoolHistory(options);
  const judges = createSharedJudges(options.state, checker.judges);
  const fleetBudget = createFleetBudget({ state: options.state, budget, clock, copy: newId() });
  const recallEchoed = createEchoedRecall(store, checker.judges);
  let repetitions: Repetition[] = [];
  let loops: Promise<unknown> = Promise.resolve();
  let firstNote: Promise<void> = Promise.resolve();
  const startedAt = clock.now();

  const onError = (error: unknown) => log('error', 'timer failed', { error });

  async function refreshWhenDue(): Promise<void> {
    const job = await refresh.current();
    if (job.state === 'running') return;
    const due = { startedAt, intervalMs: refreshIntervalMs, onStart: options.refreshOnStart };
    if (clock.now() >= nextRefreshAt(job, due)) await refresh.start({ all: false });
  }

  /** A refresh in another copy is known by what that saves. */
  async function followOthers(): Promise<void> {
    if (progress.subscribers() === 0 || progress.running()) return;
    const job = await refresh.current();
    if (job.id === followed.id && job.updatedAt === followed.updatedAt) return;
    followed = job;
    progress.publish(job);
  }
  let followed = { id: '', updatedAt: 0 };

  async function get(id: number): Promise<ProxyRecord> {
    const record = await store.get(id);
    if (!record) throw new AppError('not_found', `There is no proxy with the id ${id}.`);
    return record;
  }

  return {
    list: (query) => store.find(query),
    sample: (filter, limit) => store.sample(filter, limit),

    export: (query) => exportProxies(store, query),

    async unique({ filter, sort, offset, limit }) {
      const isFirst = createExitFilter();
      const found: ProxyRecord[] = [];
      for await (const batch of store.stream(filter)) found.push(...batch.filter(isFirst));
      if (sort === 'random') shuffle(found, options.random);
      else if (sort !== 'dependable') found.sort(ORDERS[sort]);
      return { items: found.slice(offset, offset + limit), total: found.length };
    },

    async stats() {
      const { alive, total, averageResponseMs, aliveCountries } = await store.summary();
      return {
        alive,
        total,
        avg_response_time: Math.round(averageResponseMs * 100) / 100,
        countries: aliveCountries.length,
      };
    },

    async overview() {
      const [summary, countries, samples] = await Promise.all([
        store.summary(),
        countCountries(),
        history.samples(),
      ]);
      return { summary, countries, samples };
    },

    async filters() {
      const { countries } = await store.summary();
      return { protocols: PROTOCOLS, countries, statuses: STATUSES };
    },

    async status() {
      const [lastRefresh, job, latest] = await Promise.all([
        refresh.lastFinished(),
        refresh.current(),
        judges.latest(),
      ]);
      return { lastRefresh, refresh: job, judges: latest };
    },

    get,
    testQuick: single.now,
    startTest: single.start,

    async report(id, { ok, target, error }) {
      const record = await get(id);
      const report = { at: clock.now(), ok, target: hostOfTarget(target), error: error ?? null };
      const noted = recorder.change(record, (current) => {
        const soon = Math.max(report.at, current.lastChecked + REPORT_GAP_MS);
        const nextCheck = ok ? current.nextCheck : Math.min(current.nextCheck, soon);
        return { ...current, nextCheck, reports: withReport(current, report) };
      });
      await recorder.flush();
      return (await noted) ?? record;
    },

    async sources() {
      const healthOf = await lookUpHealth(options.state);
      return options.sources.map((source) => ({ source, health: healthOf(source.name) }));
    },

    async retrySource(name) {
      const source = options.sources.find((one) => one.name === name);
      if (!source) throw new AppError('not_found', `There is no list with the name ${name}.`);
      await retrySource(options.state, name);
      const healthOf = await lookUpHealth(options.state);
      return { source, health: healthOf(name) };
    },

    refresh: (scope = { all: true }) => refresh.start(scope),
    async refreshUnlessFresh() {
      const job = await refresh.current();
      const age = clock.now() - (job.finishedAt ?? Number.NEGATIVE_INFINITY);
      const isFresh = job.state === 'done' && Math.abs(age) < Math.min(FRESH_MS, refreshIntervalMs);
      return isFresh ? job : refresh.start({ all: true });
    },
    currentRefresh: refresh.current,
    subscribe: progress.subscribe,
    version: () => store.version(),
    stopping: streams.signal,
    endStreams: () => streams.abort(),

    start() {
      const tickMs = Math.min(MOST_TICK_MS, Math.max(250, refreshIntervalMs / 60));
      refreshWhenDue().catch(onError);
      firstNote = history.note().catch(onError);
      repetitions = [
        every(tickMs, refreshWhenDue, onError),
        every(1000, followOthers, onError),
        every(1000, judges.tell, onError),
        every(1000, fleetBudget.sync, onError),
        every(5000, recallEchoed, onError),
        every(60_000, history.note, onError),
      ];
      loops = Promise.all([
        runRechecks({ ...options, recorder, budget }, stopping.signal),
        discovery.run(stopping.signal),
      ]);
    },

    async stop() {
      stopping.abort();
      streams.abort();
      await Promise.all(repetitions.map((repetition) => repetition.stop()));
      await Promise.all([refresh.stop(), loops, firstNote, single.idle()]);
      await recorder.flush();
    },
  };
}
