import type { RequestContext } from '../../http/request-context.ts';
import type { Deleter } from './deletion-rights.ts';

/**
 * Returns who asks for a deletion, according to the request: by address, `delete_token` or `token` in the query,
 * `X-Delete-Token` or a bearer token.
 */
export function deleterOf(request: Request, { identity, origin, admin }: RequestContext): Deleter {
  const { headers } = request;
  const query = new URL(request.url).searchParams;
  // The links given to people use the second name.
  const token = query.get('delete_token') || query.get('token') || tokenOf(request);
  return { peer: isForeignPage(headers, origin) ? null : identity, token, admin };
}

/** Returns the delete token of a header: `X-Delete-Token`, or a bearer token. */
export function tokenOf({ headers }: Request): string | null {
  const bearer = /^Bearer (\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  return headers.get('x-delete-token') || (bearer ?? null);
}

/**
 * Reports whether a browser sends the request for another site's page: such a page must not delete anything by the
 * visitor's address. Browsers without `Sec-Fetch-Site` still send `Origin`.
 */
function isForeignPage(headers: Headers, ownOrigin: string): boolean {
  const site = headers.get('sec-fetch-site');
  if (site === 'cross-site' || site === 'same-site') return true;
  const origin = headers.get('origin');
  return origin !== null && origin !== new URL(ownOrigin).origin;
}
