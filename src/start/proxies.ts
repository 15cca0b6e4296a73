import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createTokens } from '../access/tokens.ts';
import { gatewayRoutes } from '../gateway/routes.ts';
import { systemClock } from '../lib/clock.ts';
import { openKeyRing } from '../lib/key-ring.ts';
import { affordableSockets } from '../lib/open-files.ts';
import type { Repetition } from '../lib/schedule.ts';
import { createTargetLimits } from '../proxy/check/target-limits.ts';
import { openCountries } from '../proxy/country.ts';
import { statsAnswer } from '../proxy/descriptions.ts';
import { createExits } from '../proxy/exits.ts';
import { describePool, observeChecker, observeRefreshes } from '../proxy/metrics.ts';
import { proxyPageRoutes } from '../proxy/page-routes.ts';
import { proxyHome } from '../proxy/pages.ts';
import type { RefreshObserver } from '../proxy/refresh/run.ts';
import { proxyRoutes } from '../proxy/routes.ts';
import { createProxyService } from '../proxy/service.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { createSourceReader } from '../proxy/sources/read.ts';
import { targetRoutes } from '../proxy/target-routes.ts';
import { createAsker } from '../proxy/targets/ask.ts';
import { createSites } from '../proxy/targets/sites.ts';
import { createTargets } from '../proxy/targets/targets.ts';
import { jobView } from '../proxy/views.ts';
import { type Flags, readFlags } from '../web/flags.ts';
import { watchPool } from '../webhooks/watch.ts';
import { openChecker, readAuthority } from './checker.ts';
import { conditionFaults } from './condition.ts';
import type { Parts, RunningFeature } from './feature.ts';
import { lazySafeFetch } from './lazy-fetch.ts';
import { recordChecks } from './readiness.ts';

/** Puts the proxy pool together. */
export async function startProxies({
  runtime,
  config,
  stores,
  contextOf,
  log,
  operations,
  web,
}: Parts): Promise<RunningFeature> {
  const allowPrivate = config.PROXY_ALLOW_PRIVATE;
  const basePath = web.path + config.PROXY_BASE_PATH;
  const keys = await openKeyRing({
    state: stores.state,
    name: 'judge-secret',
    random: randomBytes,
    now: Date.now,
  });
  const { metrics, webhooks, now } = operations;
  const plainChecker = await openChecker(config, log, keys.verifying);
  const exits = createExits({
    store: stores.proxies,
    state: stores.state,
    onError: (cause) => log('warn', 'the exits of the pool cannot be read', { cause }),
  });
  const checker = exits.watch(observeChecker(plainChecker, metrics, now));
  const tell: RefreshObserver = {
    settled: (job) => webhooks?.send('refresh.finished', jobView(job)),
  };
  const countryOf = await openCountries(config.PROXY_COUNTRY_DB);
  const service = createProxyService({
    store: stores.proxies,
    state: stores.state,
    locks: stores.locks,
    checker,
    uncounted: exits.watch(plainChecker),
    readSource: createSourceReader({ fetch: lazySafeFetch(allowPrivate), allowPrivate }),
    sources: await loadSources(config.PROXY_SOURCES, (path) => readFile(path, 'utf8')),
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
    observers: [observeRefreshes(metrics), tell],
    ...(config.RATE_LIMITS && {
      countTarget: createTargetLimits({
        limiter: stores.limiter,
        target: config.RATE_LIMITS.target,
        network: config.RATE_LIMITS.target_network,
        overall: config.RATE_LIMITS.targets,
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
  const sites = createSites({ random: Math.random, shared: true });
  const asker = createAsker({
    timeoutMs: config.PROXY_CHECK_TIMEOUT,
    ca: await readAuthority(config.PROXY_JUDGE_CA),
    monotonic: () => performance.now(),
  });
  const targets = createTargets({
    sites,
    named: config.PROXY_TARGETS ?? [],
    store: stores.proxies,
    state: stores.state,
    locks: stores.locks,
    ask: asker.ask,
    mayAsk: () => checker.judges().state !== 'down',
    now: Date.now,
    onError: (error) => log('warn', 'what is known about targets was not shared', { error }),
  });
  const gateway =
    config.GATEWAY_PORT === undefined
      ? null
      : await (await import('./gateway.ts')).startServerGateway({
          runtime,
          config,
          basePath,
          port: config.GATEWAY_PORT,
          store: stores.proxies,
          sites,
          limiter: stores.limiter,
          tokens: createTokens({ state: stores.state, random: randomBytes, now: Date.now }),
          metrics,
          report: (id) => service.report(id, { ok: false }),
          log,
        });
  let followingKeys: Repetition | null = null;
  let flags: Promise<Flags> | undefined;
  const pages = {
    service,
    siteOf: web.siteOf,
    basePath,
    flags: () => (flags ??= readFlags()),
    adminRequired: config.ADMIN_TOKEN !== undefined,
    gateway: gateway?.panel ?? null,
    contextOf,
    now: Date.now,
  };
  return {
    name: 'Proxy pool',
    basePath: config.PROXY_BASE_PATH,
    routes: proxyRoutes({
      service,
      targets,
      contextOf,
      judgeSecret: keys.signing,
    })
      .use(targetRoutes({ targets, contextOf }))
      .use(proxyPageRoutes(pages))
      .use(gatewayRoutes({ contextOf, port: gateway?.port ?? null })),
    home: (site) => proxyHome(site, pages, !config.SERVICES.includes('image')),
    stats: service.stats,
    statsAnswer,
    version: service.version,
    isExit: exits.has,
    dependencies: [
      // A copy that still reads the pool from a shared store is not ready.
      {
        fault: 'The proxy pool does not answer.',
        check: async () => stores.proxies.version(),
        needed: 'proxy',
        degraded: async () => conditionFaults(stores.condition, 'proxy'),
      },
      ...recordChecks(stores.state),
    ],
    endStreams: service.endStreams,
    begin() {
      service.start();
      targets.start();
      exits.start();
      followingKeys = keys.follow((cause) => log('warn', 'keys cannot be read', { cause }));
    },
    ...(gateway && {
      addresses: { gateway: `http://${gateway.closed ? 'USER:TOKEN@' : ''}localhost:${gateway.port}` },
    }),
    async stop() {
      await gateway?.stop();
      await targets.stop();
      asker.close();
      await exits.stop();
      await followingKeys?.stop();
      await watching?.stop();
      await service.stop();
      checker.close();
    },
  };
}
