import { randomBytes } from 'node:crypto';
import { createLocalRateLimiter } from '../../../adapters/local/rate-limiter.ts';
import { createHolders } from '../../../src/access/holders.ts';
import { createTokens } from '../../../src/access/tokens.ts';
import { createApp } from '../../../src/app.ts';
import { createClients } from '../../../src/http/client/clients.ts';
import { createProxyTrust } from '../../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../../src/http/context.ts';
import { statsAnswer } from '../../../src/proxy/descriptions.ts';
import { proxyRoutes } from '../../../src/proxy/routes.ts';
import type { ProxyServiceOptions } from '../../../src/proxy/service.ts';
import type { NamedTarget } from '../../../src/proxy/targets/ask.ts';
import { targetRoutes } from '../../../src/proxy/targets/routes.ts';
import { createTargets } from '../../../src/proxy/targets/targets.ts';
import { createTestimony } from '../../../src/proxy/targets/testimony.ts';
import { openTestWeb } from '../browser/web.ts';
import { json } from '../json.ts';
import { createRandom } from '../random.ts';
import { createPool } from './pool.ts';

export interface PoolServerOptions {
  adminToken?: string;
  named?: readonly NamedTarget[];
  pool?: Partial<ProxyServiceOptions>;
  countReads?: Parameters<typeof proxyRoutes>[0]['countReads'];
}

export type PoolServer = Awaited<ReturnType<typeof createPoolServer>>;

/** The API of a proxy pool, called without a socket; lists, network and time are in the hands of the test. */
export async function createPoolServer({
  adminToken,
  named = [],
  pool: poolOptions,
  countReads,
}: PoolServerOptions = {}) {
  const pool = await createPool({ a: ['http://192.0.2.1:80'] }, poolOptions);
  const contexts = createContexts({
    clients: createClients({ trust: createProxyTrust([]), log: () => {}, now: Date.now }),
    publicUrl: undefined,
    adminToken,
  });
  const { service, store, state, locks } = pool;
  const now = pool.clock.now;
  const testimony = createTestimony({ random: createRandom(20), monotonic: now, shared: true });
  const kept = {
    named,
    store,
    state,
    locks,
    ask: async () => null,
    mayAsk: () => true,
    now,
    onError(error: unknown) {
      throw error;
    },
  } satisfies Omit<Parameters<typeof createTargets>[0], 'testimony'>;
  const targets = createTargets({ ...kept, testimony });
  const tokens = createTokens({ state, random: randomBytes, now });
  const app = createApp({
    web: await openTestWeb(),
    version: '0.0.0',
    features: [
      {
        name: 'Proxy pool',
        basePath: '',
        routes: [
          ...proxyRoutes({
            service,
            targets,
            now,
            countReads,
            judgeSecret: () => 'secret',
          }),
          ...targetRoutes(targets),
        ],
        stats: service.stats,
        statsAnswer,
        version: service.version,
      },
    ],
    contexts,
    holders: createHolders({ tokens, limiter: createLocalRateLimiter({ now }), mostBytes: 2 ** 20, now }),
    limits: null,
    health: [],
    publicUrl: undefined,
    log: () => {},
    now,
  });
  const send = (path: string, { from = '198.51.100.7', ...init }: RequestInit & { from?: string } = {}) =>
    app.handle(new Request(`http://localhost${path}`, init), () => from);
  return {
    ...pool,
    sites: testimony.common,
    testimony,
    targets,
    kept,
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
