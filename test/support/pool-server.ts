import { createApp } from '../../src/app.ts';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../src/http/context.ts';
import { statsAnswer } from '../../src/proxy/descriptions.ts';
import { proxyRoutes } from '../../src/proxy/routes.ts';
import type { ProxyServiceOptions } from '../../src/proxy/service.ts';
import { json } from './json.ts';
import { createPool } from './pool.ts';
import { openTestWeb } from './web.ts';

export interface PoolServerOptions {
  adminToken?: string;
  pool?: Partial<ProxyServiceOptions>;
}

export type PoolServer = Awaited<ReturnType<typeof createPoolServer>>;

/** The API of a proxy pool, called without a socket; lists, network and time are in the hands of the test. */
export async function createPoolServer({ adminToken, pool: poolOptions }: PoolServerOptions = {}) {
  const pool = await createPool({ a: ['http://192.0.2.1:80'] }, poolOptions);
  const contexts = createContexts({
    clients: createClients({ trust: createProxyTrust([]), log: () => {}, now: Date.now }),
    publicUrl: undefined,
    adminToken,
  });
  const { service } = pool;
  const now = pool.clock.now;
  const app = createApp({
    web: await openTestWeb(),
    version: '0.0.0',
    features: [
      {
        name: 'Proxy pool',
        basePath: '',
        routes: proxyRoutes({
          service,
          contextOf: contexts.of,
          now,
          judgeSecret: 'secret',
        }),
        stats: service.stats,
        statsAnswer,
        version: service.version,
      },
    ],
    contexts,
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
    send,
    get: async <T>(path: string) => json<T>(await send(path)),
    post: (path: string, body?: unknown, headers: Record<string, string> = {}, from?: string) =>
      send(path, {
        ...(from !== undefined && { from }),
        method: 'POST',
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
  };
}
