import { AppError } from '../errors.ts';
import type { RequestContext } from './request-context.ts';

/** Judges by `Origin` and `Sec-Fetch-Site`, which browsers send and pages cannot forge, whose page a request comes from. */
export interface WriteOrigin {
  /** `forbidden` where a request that changes something comes from somebody else's page, else `null`. */
  refusal(request: Request, context: Pick<RequestContext, 'origin'>): AppError | null;
}

export interface WriteOriginOptions {
  publicUrl: string | undefined;
  /** True for an origin that the operator has let in. */
  isLetIn: (origin: string) => boolean;
}

/** Programs send neither header and pass; so do our own pages, and origins that the operator has let in. */
export function createWriteOrigin({ publicUrl, isLetIn }: WriteOriginOptions): WriteOrigin {
  const own = publicUrl === undefined ? null : new URL(publicUrl).origin;

  return {
    refusal({ headers }, context) {
      const origin = headers.get('origin');
      if (origin !== null && isLetIn(origin)) return null;
      if (headers.get('sec-fetch-site') === 'cross-site') return refused(origin);
      // Other schemes are those of programs: app://, browser extensions.
      if (origin === null || (origin !== 'null' && !/^https?:/i.test(origin))) return null;
      const isOwn = own === null ? isSameHost(origin, context.origin) : origin === own;
      return isOwn ? null : refused(origin);
    },
  };
}

/** The scheme may differ: a proxy that takes the TLS away need not say so. */
function isSameHost(origin: string, served: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const under = `${protocol}//${served.slice(served.indexOf('//') + 2)}`;
  return URL.canParse(under) && new URL(under).host === host;
}

function refused(origin: string | null): AppError {
  const page =
    origin === null || origin === 'null' ? 'a page of another site' : `a page of ${origin.slice(0, 200)}`;
  return new AppError(
    'forbidden',
    `This request comes from ${page}, which may change nothing here. If it is your own, the operator has to set PUBLIC_URL or CORS_ORIGINS.`,
  );
}
