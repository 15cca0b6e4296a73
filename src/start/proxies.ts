import { randomBytes } from 'node:crypto';
import { conditionFindings, recordSources } from '../findings/readiness.ts';
import { gatewayRoutes } from '../gateway/routes.ts';
import { openKeyRing } from '../lib/key-ring.ts';
import { once } from '../lib/once.ts';
import type { Repetition } from '../lib/schedule.ts';
import { statsAnswer } from '../proxy/descriptions.ts';
import { readFlags } from '../proxy/pages/flags.ts';
import { proxyHome, proxyPageRoutes } from '../proxy/pages/pages.ts';
import { proxyRoutes } from '../proxy/routes.ts';
import { createAsker } from '../proxy/targets/ask.ts';
import { targetRoutes } from '../proxy/targets/routes.ts';
import { createTargets } from '../proxy/targets/targets.ts';
import { createTestimony } from '../proxy/targets/testimony.ts';
import { readAuthority } from './checker.ts';
import type { Parts, RunningFeature } from './feature.ts';
import { openPool } from './pool.ts';

/** Assembles the proxy pool. */
export async function startProxies(parts: Parts): Promise<RunningFeature> {
  const { config, stores, log, operations, web } = parts;
  const basePath = web.path + config.PROXY_BASE_PATH;
  const { state } = stores;
  const keys = await openKeyRing({ state, name: 'judge-secret', random: randomBytes, now: Date.now });
  const pool = await openPool(parts, keys.verifying);
  const { service } = pool;
  const mayAsk = () => pool.judges().state !== 'down';
  const { testimony, targets, ...asking } = await openTargets(parts, mayAsk);
  const { GATEWAY_PORT: port } = config;
  const gateway =
    port === undefined
      ? null
      : await (await import('./gateway.ts')).startServerGateway(parts, pool, { port, testimony });
  let followingKeys: Repetition | null = null;
  const countReads = operations.limits?.recount('read');
  const pages = {
    countReads,
    service,
    siteOf: web.siteOf,
    basePath,
    flags: once(readFlags),
    adminRequired: config.ADMIN_TOKEN !== undefined,
    gateway: gateway?.panel ?? null,
    now: Date.now,
  };
  return {
    name: 'Proxy pool',
    basePath: config.PROXY_BASE_PATH,
    routes: [
      ...proxyRoutes({ service, targets, countReads, basePath, judgeSecret: keys.signing }),
      ...targetRoutes(targets),
      ...proxyPageRoutes(pages),
      ...gatewayRoutes(gateway),
    ],
    // Alone, its page is the first one.
    ...(config.SERVICES.includes('image') && { home: (site) => proxyHome(site, basePath) }),
    stats: service.stats,
    statsAnswer,
    version: service.version,
    isExit: pool.isExit,
    health: [
      // A copy that is still reading the pool from a shared store is not ready.
      {
        silence: { level: 'fail', about: 'proxy', text: 'The proxy pool does not respond.' },
        async look() {
          await stores.proxies.version();
          return conditionFindings(stores.condition, 'proxy');
        },
      },
      // The image host asks the same, and cannot work without.
      ...(config.SERVICES.includes('image') ? [] : recordSources(state)),
    ],
    async drain() {
      service.endStreams();
      await gateway?.drain();
    },
    begin() {
      pool.start();
      targets.start();
      followingKeys = keys.follow((cause) => log('warn', 'keys cannot be read', { cause }));
    },
    ...(gateway && {
      addresses: { gateway: `http://${gateway.closed() ? 'USER:TOKEN@' : ''}localhost:${gateway.port}` },
    }),
    async stop() {
      await gateway?.stop();
      await asking.stop();
      await followingKeys?.stop();
      await pool.stop();
    },
  };
}

/**
 * Opens what is known about which proxy reaches which site, and the probes that find it out. `mayAsk` returns false
 * while our own network may be down, so that failures teach nothing.
 */
async function openTargets({ config, stores, log }: Parts, mayAsk: () => boolean) {
  const monotonic = () => performance.now();
  const testimony = createTestimony({ random: Math.random, monotonic, shared: true });
  const asker = createAsker({
    timeoutMs: config.PROXY_CHECK_TIMEOUT,
    ca: await readAuthority(config.PROXY_JUDGE_CA),
    monotonic,
  });
  const targets = createTargets({
    testimony,
    named: config.PROXY_TARGETS ?? [],
    store: stores.proxies,
    state: stores.state,
    locks: stores.locks,
    ask: asker.ask,
    mayAsk,
    now: Date.now,
    onError: (error) => log('warn', 'results for targets not shared', { error }),
  });

  return {
    testimony,
    targets,
    async stop() {
      await targets.stop();
      asker.close();
    },
  };
}
