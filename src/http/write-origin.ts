import { AppError, message } from '../errors.ts';
import type { RequestContext } from './context.ts';

interface WriteOriginOptions {
  publicUrl: string | undefined;
  /** Names of the server besides that of `publicUrl`. */
  allowedHosts: readonly string[] | undefined;
  /** Reports whether the operator has allowed an origin. */
  isLetIn: (origin: string) => boolean;
}

/**
 * Checks which page sent a request, by `Origin` and `Sec-Fetch-Site`, which browsers send and pages cannot forge.
 * Accepts programs, which send neither header, our own pages, and origins that the operator has allowed. Programs
 * made of pages (`app://`, browser extensions) may upload, and so may people who share a file from the system's menu,
 * for which browsers send no page.
 */
export function createWriteOrigin({ publicUrl, allowedHosts, isLetIn }: WriteOriginOptions) {
  const own = publicUrl === undefined ? null : new URL(publicUrl).origin;
  const isOwnHost = createOwnHosts(own === null ? allowedHosts : (allowedHosts ?? []));

  /** Returns `forbidden` if a request that changes something comes from a page that may not, otherwise `null`. */
  return (
    { headers }: Request,
    { reachedAt }: Pick<RequestContext, 'reachedAt'>,
    isUpload: boolean,
  ): AppError | null => {
    const origin = headers.get('origin');
    if (origin !== null && (isLetIn(origin) || origin === own)) {
      return headers.get('sec-fetch-site') === 'cross-site' && !isLetIn(origin) ? foreign(origin) : null;
    }
    if (origin !== null && isOfProgram(origin)) return isUpload ? null : foreign(origin);
    if (headers.get('sec-fetch-site') === 'cross-site') return foreign(origin);
    if (origin === 'null' && headers.get('sec-fetch-site') === 'none' && isUpload) return null;
    if (origin === null) return null;
    const host = hostOf(origin, reachedAt);
    if (host === null) return foreign(origin);
    return isOwnHost(host) ? null : unknownHost(host);
  };
}

/** Neither a web page nor `null`, which a page sends to hide its origin. */
function isOfProgram(origin: string): boolean {
  return origin !== 'null' && /^[a-z][\w+.-]*:\/\//i.test(origin) && !/^https?:/i.test(origin);
}

/**
 * Returns the host name of an origin if the server was reached at the same host and port, otherwise `null`. The
 * scheme may differ, because a reverse proxy that terminates TLS does not have to say so.
 */
function hostOf(origin: string, reachedAt: string): string | null {
  if (!/^https?:/i.test(origin) || !URL.canParse(origin)) return null;
  const { protocol, host, hostname } = new URL(origin);
  const under = `${protocol}//${reachedAt.slice(reachedAt.indexOf('//') + 2)}`;
  return URL.canParse(under) && new URL(under).host === host ? hostname : null;
}

function foreign(origin: string | null): AppError {
  const page =
    origin === null || origin === 'null' ? 'a page of another site' : `a page of ${origin.slice(0, 200)}`;
  return new AppError(
    'forbidden',
    message(
      'This request comes from {page}, which is not allowed to change anything here. If the site is yours, set PUBLIC_URL or CORS_ORIGINS on the server.',
      { page },
    ),
  );
}

function unknownHost(host: string): AppError {
  return new AppError(
    'forbidden',
    message(
      'The server does not know the host name {host}, so nothing can be changed under it. If it is the name of this server, set PUBLIC_URL, or ALLOWED_HOSTS to include it.',
      { host },
    ),
  );
}

/** Decides which host names of requests are the server's own. */
type IsOwnHost = (hostname: string) => boolean;

/** Names that cannot exist in public DNS, so that only the local network resolves them. */
const LOCAL_NAME = /^(?:[^.]+|.*\.(?:localhost|local|lan|home\.arpa|internal))$/;
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * Accepts the names of `ALLOWED_HOSTS`, or all with `*`. By default it accepts names that no attacker can point at
 * this server: literal addresses, single labels, and names under `.local`, `.lan`, `.home.arpa` and `.internal`. Any
 * other name may be an attacker's that temporarily resolves to the server's address (DNS rebinding), so that its page
 * would pass for one of ours.
 */
function createOwnHosts(allowed: readonly string[] | undefined): IsOwnHost {
  if (allowed === undefined)
    return (name) => name.startsWith('[') || IPV4.test(name) || LOCAL_NAME.test(trimmed(name));
  const names = new Set(allowed.map(trimmed));
  return (hostname) => names.has('*') || names.has(trimmed(hostname));
}

/** Returns the name in lower case, without a trailing dot. */
function trimmed(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}
