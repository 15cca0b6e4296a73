import { type Call, type Route, route } from '../../http/route.ts';
import { catbox } from './catbox.ts';
import { chevereto } from './chevereto.ts';
import type { Client, ClientRoute, Host } from './client.ts';
import { imgur } from './imgur.ts';
import { lsky } from './lsky.ts';
import { nullPointer } from './null-pointer.ts';
import { picgo } from './picgo.ts';
import { smms } from './smms.ts';

/** All other services whose clients are supported. */
export const CLIENTS: readonly Client[] = [lsky, smms, imgur, chevereto, catbox, nullPointer, picgo];

/**
 * Routes of other services, each service under its own path, which users enter as the address of their service. These
 * routes have the same limits as ours. They are not described here, because the other services describe them.
 * `names`: the services whose clients are supported.
 */
export function clientRoutes(host: Host, names: readonly string[]): Route[] {
  const served = CLIENTS.filter(({ name }) => names.includes(name));
  return served.flatMap(({ name, alsoAtRoot, routes }) =>
    routes.flatMap((one) => [
      clientRoute(host, `/${name}`, one),
      ...(alsoAtRoot ? [clientRoute(host, '', one)] : []),
    ]),
  );
}

function clientRoute(
  host: Host,
  base: `/${string}` | '',
  { method, path, limit, dialect, answer }: ClientRoute,
): Route {
  // Routes without a variable part have no `params`.
  const answerCall = (call: Call<{ params: { rest?: string } }>) =>
    answer(call, host, call.params?.rest ?? '');
  return route(`${method} ${base}${path}` as `${typeof method} /${string}`, answerCall, {
    limit,
    dialect: () => dialect,
    ...(limit === 'upload' && { bytes: 'upload_bytes' }),
    // Changes must not wait behind reads.
    queued: false,
  });
}

/**
 * Returns a ShareX custom uploader for this server. `base`: scheme, host and base path. Users add their token after
 * importing it.
 */
export function sharexUploader(base: string, needsToken: boolean) {
  return {
    Version: '15.0.0',
    Name: `picpool (${new URL(base).host})`,
    DestinationType: 'ImageUploader',
    RequestMethod: 'POST',
    RequestURL: `${base}/api/upload`,
    ...(needsToken && { Headers: { Authorization: 'Bearer YOUR-TOKEN' } }),
    Body: 'MultipartFormData',
    FileFormName: 'image',
    URL: '{json:raw_url}',
    ThumbnailURL: '{json:raw_url}?w=320',
    DeletionURL: '{json:delete_url}',
    ErrorMessage: '{json:error}',
  };
}
