import { Elysia } from 'elysia';
import { policy } from '../http/policy.ts';
import type { ClientRoute, Host } from './clients/client.ts';
import { CLIENTS } from './clients/clients.ts';
import { imgurAtRoot } from './clients/imgur.ts';

interface ClientRoutesOptions {
  host: Host;
  /** Names of the services whose clients are supported. */
  names: readonly string[];
}

/**
 * Routes of other services, each service under its own path, which users enter as the address of their service. These
 * routes have the same limits as ours. They are not described here, because the other services describe them.
 */
export function clientRoutes({ host, names }: ClientRoutesOptions) {
  const app = new Elysia();
  const add = (base: string, { method, path, limit, dialect, answer }: ClientRoute) =>
    app.route(method, base + path, ({ request, params }) => answer(request, host, restOf(params)), {
      parse: 'none',
      detail: { hide: true },
      ...policy({
        limit,
        dialect: () => dialect,
        ...(limit === 'upload' && { bytes: 'upload_bytes' }),
        // Changes must not wait behind reads.
        queued: false,
      }),
    });
  for (const { name, routes } of CLIENTS) {
    if (names.includes(name)) for (const route of routes) add(`/${name}`, route);
  }
  if (names.includes('imgur')) for (const route of imgurAtRoot) add('', route);
  return app;
}

/** Routes without a variable part have no `params`. */
function restOf(params: { rest?: string } | undefined): string {
  return params?.rest ?? '';
}
