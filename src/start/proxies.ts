import { randomBytes } from 'node:crypto';
import { createTokens } from '../access/tokens.ts';
import { gatewayRoutes } from '../gateway/routes.ts';
import { openKeyRing } from '../lib/key-ring.ts';
import type { Repetition } from '../lib/schedule.ts';
import { statsAnswer } from '../proxy/descriptions.ts';
import { proxyPageRoutes } from '../proxy/page-routes.ts';
import { proxyHome } from '../proxy/pages.ts';
import { proxyRoutes } from '../proxy/routes.ts';
import { targetRoutes } from '../proxy/target-routes.ts';
import { type Flags, readFlags } from '../web/flags.ts';
import { conditionFaults } from './condition.ts';
import type { Parts, RunningFeature } from './feature.ts';
import { openPool } from './pool.ts';
import { recordChecks } from './readiness.ts';
import { openTargets } from './targets.ts';

/** Assembles the proxy pool. */
export async function startProxies({
  runtime,
  config,
  stores,
  contextOf,
  log,
  operations,
  web,
}: Parts): Promise<RunningFeature> {
  const basePath = web.path + config.PROXY_BASE_PATH;
  const { state } = stores;
  const keys = await openKeyRing({ state, name: 'judge-secret', random: randomBytes, now: Date.now });
  const pool = await openPool({ config, stores, log, operations }, keys.verifying);
  const { service } = pool;
  const mayAsk = () => pool.judges().state !== 'down';
  const { sites, targets, ...asking } = await openTargets({ config, stores, log, mayAsk });
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
          tokens: createTokens({ state, random: randomBytes, now: Date.now }),
          metrics: operations.metrics,
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
    routes: proxyRoutes({ service, targets, contextOf, judgeSecret: keys.signing })
      .use(targetRoutes({ targets, contextOf }))
      .use(proxyPageRoutes(pages))
      .use(gatewayRoutes({ contextOf, port: gateway?.port ?? null })),
    home: (site) => proxyHome(site, pages, !config.SERVICES.includes('image')),
    stats: service.stats,
    statsAnswer,
    version: service.version,
    isExit: pool.isExit,
    dependencies: [
      // A copy that is still reading the pool from a shared store is not ready.
      {
        fault: 'The proxy pool does not respond.',
        check: async () => stores.proxies.version(),
        needed: 'proxy',
        degraded: async () => conditionFaults(stores.condition, 'proxy'),
      },
      ...recordChecks(state),
    ],
    endStreams: service.endStreams,
    begin() {
      pool.start();
      targets.start();
      followingKeys = keys.follow((cause) => log('warn', 'keys cannot be read', { cause }));
    },
    ...(gateway && {
      addresses: { gateway: `http://${gateway.closed ? 'USER:TOKEN@' : ''}localhost:${gateway.port}` },
    }),
    async stop() {
      await gateway?.stop();
      await asking.stop();
      await followingKeys?.stop();
      await pool.stop();
    },
  };
}
