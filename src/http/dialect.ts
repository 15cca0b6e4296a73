/** How a route answers the clients of another service. */
export interface Dialect {
  /** True if the token is in the body, so that the route itself calls `judgeToken`. */
  readonly tokenInBody?: true;
  /** Returns the answer to a refused request in a form that these clients read. */
  refusal(refused: Refused): Spoken;
}

/** The content of the error envelope. */
interface Refused {
  status: number;
  /** What was wrong, as a sentence. */
  error: string;
  code: string;
  request_id: string;
}

/** A body and its status: text, or JSON. */
interface Spoken {
  status: number;
  body: string | object;
}

/** Returns the token of `Authorization: Bearer`, or `null`. */
export function bearerOf(authorization: string | null): string | null {
  return authorization === null ? null : (/^Bearer (\S+)$/i.exec(authorization)?.[1] ?? null);
}

/**
 * Returns the token of a request as clients of other services send it: bare or as `Client-ID` in `Authorization`, in
 * the header `token`, or, for clients that can only set a URL, as `key` in the query. Returns `null` if there is
 * none.
 */
function foreignTokenOf({ headers, url }: Request): string | null {
  const [, token] = /^(?:Client-ID |Token )?(\S+)$/i.exec(headers.get('authorization') ?? '') ?? [];
  return token ?? (headers.get('token') || new URL(url).searchParams.get('key') || null);
}

/** Returns the token of a request: as `Bearer`, or as the clients of another service send it. */
export function tokenOf(
  request: Request,
  authorization: string | null,
  dialect: Dialect | null,
): string | null {
  return bearerOf(authorization) ?? (dialect && foreignTokenOf(request));
}

/** Translates a refusal, keeping its headers. A page, such as the form for a password, stays as it is. */
export async function speak(envelope: Response, dialect: Dialect): Promise<Response> {
  if (!envelope.headers.get('content-type')?.startsWith('application/json')) return envelope;
  const { error, code, request_id } = (await envelope.json()) as Refused;
  const { status, body } = dialect.refusal({ status: envelope.status, error, code, request_id });
  const headers = new Headers(envelope.headers);
  const isText = typeof body === 'string';
  headers.set('content-type', isText ? 'text/plain; charset=utf-8' : 'application/json');
  return new Response(isText ? body : JSON.stringify(body), { status, headers });
}
