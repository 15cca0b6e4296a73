import type { RequestContext } from '../../http/request-context.ts';
import type { Deleter } from './deletion-rights.ts';

/**
 * Who asks for a deletion, as the request tells: by address, `delete_token` or `token` in the query, `X-Delete-Token`
 * or a bearer token.
 */
export function deleterOf(request: Request, { identity, origin, admin }: RequestContext): Deleter {
  const { headers } = request;
  const query = new URL(request.url).searchParams;
  // The links that people are given have it under the second name.
  const token = query.get('delete_token') || query.get('token') || tokenOf(request);
  return { peer: isForeignPage(headers, origin) ? null : identity, token, admin };
}

/** The delete token that a header carries: `X-Delete-Token`, or a bearer token. */
export function tokenOf({ headers }: Request): string | null {
  const bearer = /^Bearer (\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  return headers.get('x-delete-token') || (bearer ?? null);
}

/**
 * True if a browser sends the request for someone else's page: the visitor's address must not delete
 * what the visitor did not ask to delete. Browsers without `Sec-Fetch-Site` still send `Origin`.
 */
function isForeignPage(headers: Headers, ownOrigin: string): boolean {
  const site = headers.get('sec-fetch-site');
  if (site === 'cross-site' || site === 'same-site') return true;
  const origin = headers.get('origin');
  return origin !== null && origin !== new URL(ownOrigin).origin;
}
