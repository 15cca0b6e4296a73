import { randomBytes } from 'node:crypto';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { createHolders } from '../../src/access/holders.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { createApp } from '../../src/app.ts';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../src/http/context.ts';
import { statsAnswer } from '../../src/proxy/descriptions.ts';
import { proxyRoutes } from '../../src/proxy/routes.ts';
import type { ProxyServiceOptions } from '../../src/proxy/service.ts';
import { targetRoutes } from '../../src/proxy/target-routes.ts';
import type { NamedTarget } from '../../src/proxy/targets/named.ts';
import { createSites } from '../../src/proxy/targets/sites.ts';
import { createTargets } from '../../src/proxy/targets/targets.ts';
import { json } from './json.ts';
import { createPool } from './pool.ts';
import { createRandom } from './random.ts';
import { openTestWeb } from './web.ts';

export interface PoolServerOptions {
  adminToken?: string;
  named?: readonly NamedTarget[];
  pool?: Partial<ProxyServiceOptions>;
}

export type PoolServer = Awaited<ReturnType<typeof createPoolServer>>;

/** The API of a proxy pool, called without a socket; lists, network and time are in the hands of the test. */
export async function createPoolServer({
  adminToken,
  named = [],
  pool: poolOptions,
}: PoolServerOptions = {}) {
  const pool = await createPool({ a: ['http://192.0.2.1:80'] }, poolOptions);
  const contexts = createContexts({
    clients: createClients({ trust: createProxyTrust([]), log: () => {}, now: Date.now }),
    publicUrl: undefined,
    adminToken,
  });
  const { service, store, state, locks } = pool;
  const now = pool.clock.now;
  const sites = createSites({ random: createRandom(20), shared: true });
  const targets = createTargets({
    sites,
    named,
    store,
    state,
    locks,
    ask: async () => null,
    mayAsk: () => true,
    now,
    onError(error) {
      throw error;
    },
  });
  const tokens = createTokens({ state, random: randomBytes, now });
  const app = createApp({
    web: await openTestWeb(),
    version: '0.0.0',
    features: [
      {
        name: 'Proxy pool',
        basePath: '',
        routes: proxyRoutes({
          service,
          targets,
          contextOf: contexts.of,
          now,
          judgeSecret: () => 'secret',
        }).use(targetRoutes({ targets, contextOf: contexts.of })),
        stats: service.stats,
        statsAnswer,
        version: service.version,
      },
    ],
    contexts,
    holders: createHolders({ tokens, limiter: createLocalRateLimiter({ now }), mostBytes: 2 ** 20, now }),
    limits: null,
    dependencies: [],
    publicUrl: undefined,
    log: () => {},
    now,
  });
  const send = (path: string, { from = '198.51.100.7', ...init }: RequestInit & { from?: string } = {}) =>
    app.handle(new Request(`http://localhost${path}`, init), () => from);
  return {
    ...pool,
    sites,
    targets,
    tokens,
    send,
    get: async <T>(path: string, headers: Record<string, string> = {}) =>
      json<T>(await send(path, { headers })),
    post: (path: string, body?: unknown, headers: Record<string, string> = {}, from?: string) =>
      send(path, {
        ...(from !== undefined && { from }),
        method: 'POST',
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
  };
}
