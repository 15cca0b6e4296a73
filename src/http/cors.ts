const METHODS = 'GET, HEAD, POST, PATCH, DELETE';
const REQUEST_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-Image-Password, X-Delete-Token, X-Album-Token, ' +
  'X-Request-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name';
const ANSWER_HEADERS =
  'Content-Disposition, ETag, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, ' +
  'X-Request-Id, X-Total-Count';
/** How long a browser may cache a preflight, in seconds. */
const MAX_AGE_S = 7200;

/** `origins`: such as `https://app.example`, or `*` for all. */
export function createCors(origins: readonly string[]) {
  const everybody = origins.includes('*');
  const known = new Set(origins);

  function allowed({ headers }: Request): string | null {
    const origin = headers.get('origin');
    if (origin === null) return null;
    return everybody ? '*' : known.has(origin) ? origin : null;
  }

  return {
    /** Reports whether scripts of an origin may call the API. */
    isLetIn: (origin: string) => everybody || known.has(origin),

    /** Returns the answer to a preflight request of an allowed origin, otherwise `null`. */
    preflight(request: Request): Response | null {
      if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method')) return null;
      if (allowed(request) === null) return null;
      return new Response(null, {
        status: 204,
        headers: {
          'access-control-allow-methods': METHODS,
          'access-control-allow-headers': REQUEST_HEADERS,
          'access-control-max-age': String(MAX_AGE_S),
        },
      });
    },
    /** Adds the headers that let the origin of the request read the answer. */
    allow(request: Request, answer: Headers): void {
      if (!everybody) answer.append('vary', 'Origin');
      const origin = allowed(request);
      if (origin === null) return;
      answer.set('access-control-allow-origin', origin);
      answer.set('access-control-expose-headers', ANSWER_HEADERS);
      // A page that may read an answer may also embed it.
      answer.set('cross-origin-resource-policy', 'cross-origin');
    },
  };
}

/** Lets scripts of other origins read answers, always without cookies. */
export type Cors = ReturnType<typeof createCors>;
