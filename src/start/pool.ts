import { systemClock } from '../lib/clock.ts';
import { affordableSockets } from '../lib/open-files.ts';
import { createTargetLimits } from '../proxy/check/target-limits.ts';
import { describePool, observeChecker, observeRefreshes } from '../proxy/metrics.ts';
import { openCountries } from '../proxy/pool/country.ts';
import { createExits } from '../proxy/pool/exits.ts';
import { createPaidUpstreams } from '../proxy/pool/paid.ts';
import type { RefreshObserver } from '../proxy/refresh/run.ts';
import { createProxyService } from '../proxy/service.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { createSourceReader } from '../proxy/sources/read.ts';
import { jobView } from '../proxy/views.ts';
import { watchPool } from '../webhooks/watch.ts';
import { openChecker } from './checker.ts';
import type { Parts } from './feature.ts';
import { lazySafeFetch } from './lazy-fetch.ts';

/** Assembles the checks, the pool and its events. `secrets`: those with which our own judge proves its answers. */
export async function openPool({ config, stores, log, operations }: Parts, secrets: () => readonly string[]) {
  const { metrics, webhooks } = operations;
  const { PROXY_ALLOW_PRIVATE: allowPrivate, RATE_LIMITS: rates } = config;
  const plainChecker = await openChecker(config, log, secrets);
  const exits = createExits({
    store: stores.proxies,
    state: stores.state,
    onError: (cause) => log('warn', 'exits of the pool not read', { cause }),
  });
  const checker = exits.watch(observeChecker(plainChecker, metrics));
  const tell: RefreshObserver = {
    settled: (job) => webhooks?.send('refresh.finished', jobView(job)),
  };
  const countryOf = await openCountries(config.PROXY_COUNTRY_DB);
  const sources = await loadSources(config.PROXY_SOURCES);
  const readSource = createSourceReader({ fetch: lazySafeFetch(allowPrivate), allowPrivate });
  const paid = createPaidUpstreams({
    sources,
    readSource,
    checker: plainChecker,
    countryOf,
    clock: systemClock,
    log,
    readEveryMs: config.PROXY_REFRESH_INTERVAL,
  });
  const service = createProxyService({
    store: stores.proxies,
    state: stores.state,
    locks: stores.locks,
    checker,
    uncounted: exits.watch(plainChecker),
    readSource,
    sources,
    countryOf,
    clock: systemClock,
    random: Math.random,
    log,
    refreshIntervalMs: config.PROXY_REFRESH_INTERVAL,
    refreshOnStart: config.PROXY_REFRESH_ON_START,
    refreshBudgetMs: config.PROXY_REFRESH_BUDGET,
    checksPerHour: config.PROXY_CHECKS_PER_HOUR,
    concurrency: await affordableSockets(config.PROXY_CHECK_CONCURRENCY),
    deadRetentionMs: config.PROXY_DEAD_RETENTION,
    maxPool: config.PROXY_MAX_POOL,
    observers: [observeRefreshes(metrics), tell, { settled: paid.reread }],
    ...(rates && {
      countTarget: createTargetLimits({
        limiter: stores.limiter,
        target: rates.target,
        network: rates.target_network,
        overall: rates.targets,
      }),
    }),
  });
  describePool(metrics, service, stores.proxies);
  const watching =
    webhooks &&
    watchPool({
      state: stores.state,
      locks: stores.locks,
      low: config.WEBHOOK_POOL_BELOW,
      send: webhooks.send,
      log,
      async look() {
        const [{ alive }, { judges, lastRefresh }] = await Promise.all([service.stats(), service.status()]);
        return { alive, refreshed: lastRefresh !== null, judges: judges.state, schemes: judges.schemes };
      },
    });

  return {
    service,
    sources,
    /** Started by the gateway, which alone uses them. */
    paid,
    judges: checker.judges,
    /** Reports whether a proxy of the pool uses this address as its exit. */
    isExit: exits.has,
    /** Begins its jobs. */
    start(): void {
      service.start();
      exits.start();
    },
    /** Idempotent. */
    async stop(): Promise<void> {
      await exits.stop();
      await watching?.stop();
      await service.stop();
      checker.close();
    },
  };
}

/** The pool over its store, and what uses it. */
export type Pool = Awaited<ReturnType<typeof openPool>>;
