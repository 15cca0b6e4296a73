import type { Clock } from '../lib/clock.ts';
import { elapsedSince } from '../lib/stored-time.ts';
import { createBlindTest } from './check/blind-test.ts';
import type { Checker } from './check/checker.ts';
import { createSharedJudges } from './check/fleet-budget.ts';
import { createSingleChecks, type SingleCheckOptions } from './check/single-check.ts';
import { withReport } from './pool/history.ts';
import { createLatencies } from './pool/latencies.ts';
import { createPoolHistory } from './pool/pool-history.ts';
import { createPoolReading, type PoolReading } from './pool/reading.ts';
import { conditionOf, type PoolStatus, type SourceStatus } from './pool/status.ts';
import type { ProxyRecord } from './proxy.ts';
import { createEchoedRecall } from './recheck/recheck.ts';
import type { RefreshJob } from './refresh/progress.ts';
import type { Recorder } from './refresh/recorder.ts';
import type { Scope } from './refresh/round.ts';
import { lookUpHealth } from './refresh/source-health.ts';
import { createTimers } from './refresh/timers.ts';
import { createUpkeep, type UpkeepOptions } from './refresh/upkeep.ts';
import { hostOfTarget } from './targets/site.ts';

export interface ProxyServiceOptions extends UpkeepOptions {
  /** A checker that does not count why checks fail, for tests by untrusted clients. Default: `checker`. */
  uncounted?: Checker;
  /** Refresh at the start, unless the last refresh is more recent than the interval. */
  refreshOnStart: boolean;
  /** Counts tests of addresses against their limits. Default: unlimited. */
  countTarget?: SingleCheckOptions['countTarget'];
}

interface UserReport {
  ok: boolean;
  /** The URL or host that the user wanted to reach. Only the host is kept. */
  target?: string | undefined;
  error?: string | undefined;
}

/** Minimum time between the last check of a proxy and one that a report triggers. */
const REPORT_GAP_MS = 30_000;
/** After a successful refresh, untrusted clients cannot start another one for this long. */
const FRESH_MS = 10 * 60_000;

export function createProxyService(options: ProxyServiceOptions) {
  const { store, state, checker, clock, log, countryOf, refreshIntervalMs } = options;
  const stopping = new AbortController();
  const streams = new AbortController();
  const upkeep = createUpkeep(options);
  const { recorder, refresh, progress } = upkeep;
  const latencies = createLatencies(store, clock);
  const history = createPoolHistory({ store, state, clock });
  const reading = createPoolReading({ store, latencies, history });
  const single = createSingleChecks({
    get: reading.get,
    recorder,
    checker,
    blind: createBlindTest({ checker: options.uncounted ?? checker, clock, signal: stopping.signal }),
    countryOf,
    signal: stopping.signal,
    onError: (error) => log('warn', 'test not completed', { error }),
    countTarget: options.countTarget,
  });
  const judges = createSharedJudges(state, checker.judges);
  const timers = createTimers({
    upkeep,
    due: { startedAt: clock.now(), intervalMs: refreshIntervalMs, onStart: options.refreshOnStart },
    now: clock.now,
    others: [
      [1000, judges.tell],
      [5000, createEchoedRecall(store, checker.judges)],
      [60_000, history.note],
    ],
    onError: (error) => log('error', 'timer task failed', { error }),
  });
  let loops: Promise<unknown> = Promise.resolve();

  return {
    ...reading,
    /**
     * Records a user's report on whether a proxy worked. A bad report brings its next check forward, but never changes
     * the status.
     * @throws {AppError} `not_found`
     */
    report: createReport(reading, recorder, clock),
    /** Checks now; see `createSingleChecks`. */
    testQuick: single.now,
    /** Starts a check of a known proxy. */
    startTest: single.start,
    /**
     * Starts a refresh, or joins the running one. Unless told otherwise, it also checks dead proxies that are not due
     * yet, if there is time, whatever the budget of checks is.
     */
    refresh: (scope: Scope = { all: true, overdraws: true }) => refresh.start(scope),
    /** Returns the running refresh, or the last one. */
    currentRefresh: refresh.current,
    /** Calls back when a refresh of any copy makes progress. Returns a function that unsubscribes. */
    subscribe: progress.subscribe,
    /** Aborts when endless responses have to end. */
    stopping: streams.signal,
    /** Ends endless responses. Everything else continues. */
    endStreams: () => streams.abort(),

    async status(): Promise<PoolStatus> {
      const [lastRefresh, job, latest] = await Promise.all([
        refresh.lastFinished(),
        refresh.current(),
        judges.latest(),
      ]);
      const nextRefresh = timers.nextRefresh(job);
      const facts = { job, judges: latest, lastRefresh, nextRefresh };
      const condition = conditionOf({ ...facts, intervalMs: refreshIntervalMs, now: clock.now() });
      return { condition, lastRefresh, nextRefresh, refresh: job, judges: latest };
    },

    /** Returns the health of each list, in the order of the configuration. */
    async sources(): Promise<SourceStatus[]> {
      const healthOf = await lookUpHealth(state);
      return options.sources.map((source) => ({ source, health: healthOf(source.name) }));
    },

    /**
     * Like `refresh`, for untrusted clients: it keeps to the budget of checks, and returns the last refresh instead of
     * starting one if it succeeded less than ten minutes ago, or less than the interval ago.
     */
    async refreshUnlessFresh(): Promise<RefreshJob> {
      const job = await refresh.current();
      const age = elapsedSince(job.finishedAt, clock.now());
      const isFresh = job.state === 'done' && age < Math.min(FRESH_MS, refreshIntervalMs);
      return isFresh ? job : refresh.start({ all: true });
    },

    /** Starts the hourly refresh and the rechecks. */
    start(): void {
      timers.start();
      loops = upkeep.run(stopping.signal);
    },

    /** Stops everything that runs. Finished checks are saved. */
    async stop(): Promise<void> {
      stopping.abort();
      streams.abort();
      await timers.stop();
      await Promise.all([refresh.stop(), loops, single.idle()]);
      await recorder.flush();
    },
  };
}

/** The proxy pool. Storage failures reject with `AppError('unavailable')`. */
export type ProxyService = ReturnType<typeof createProxyService>;

function createReport(
  { get }: Pick<PoolReading, 'get'>,
  recorder: Pick<Recorder, 'change' | 'flush'>,
  clock: Pick<Clock, 'now'>,
) {
  return async (id: number, { ok, target, error }: UserReport): Promise<ProxyRecord> => {
    const record = await get(id);
    const report = { at: clock.now(), ok, target: hostOfTarget(target), error: error ?? null };
    const noted = recorder.change(record, (current) => {
      const soon = Math.max(report.at, Math.min(report.at, current.lastChecked) + REPORT_GAP_MS);
      const nextCheck = ok ? current.nextCheck : Math.min(current.nextCheck, soon);
      return { ...current, nextCheck, reports: withReport(current, report) };
    });
    await recorder.flush();
    return (await noted) ?? record;
  };
}
