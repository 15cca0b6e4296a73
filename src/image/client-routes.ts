import { Elysia } from 'elysia';
import { policy } from '../http/policy.ts';
import type { ClientRoute, Host } from './clients/client.ts';
import { CLIENTS } from './clients/clients.ts';
import { imgurAtRoot } from './clients/imgur.ts';

export interface ClientRoutesOptions {
  host: Host;
  /** Which clients are understood, by their names. */
  names: readonly string[];
}

/**
 * What clients of other services ask for, each below its own path, which users set as the address of their service. These routes
 * are limited as ours are; they are not described, for the other services describe them.
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

/** Routes without a part that varies have no `params`. */
function restOf(params: { rest?: string } | undefined): string {
  return params?.rest ?? '';
}
