import { bearerOf } from './context.ts';

/** How a route speaks with the clients of another service. */
export interface Dialect {
  /** True if the token is in the body, so that the route itself calls `judgeToken`. */
  readonly tokenInBody?: true;
  /** The answer to a request that was refused, as these clients read it. */
  refusal(refused: Refused): Spoken;
}

/** What the error envelope says. */
export interface Refused {
  status: number;
  /** What was wrong, in a sentence. */
  error: string;
  code: string;
  request_id: string;
}

/** A body and its status: text, or JSON. */
export interface Spoken {
  status: number;
  body: string | object;
}

/**
 * The token of a request, where clients have a place of their own for it: bare or as `Client-ID` in `Authorization`, in the header
 * `token`, or as `key` in the query, for those who can set nothing but an address. `null` for none.
 */
function foreignTokenOf({ headers, url }: Request): string | null {
  const [, token] = /^(?:Client-ID |Token )?(\S+)$/i.exec(headers.get('authorization') ?? '') ?? [];
  return token ?? (headers.get('token') || new URL(url).searchParams.get('key') || null);
}

/** The token of a request: as `Bearer`, or, where clients of another service ask, as these have it. */
export function tokenOf(
  request: Request,
  authorization: string | null,
  dialect: Dialect | null,
): string | null {
  return bearerOf(authorization) ?? (dialect && foreignTokenOf(request));
}

/** Says a refusal in another way, with the headers that it had. */
export async function speak(envelope: Response, dialect: Dialect): Promise<Response> {
  const { error, code, request_id } = (await envelope.json()) as Refused;
  const { status, body } = dialect.refusal({ status: envelope.status, error, code, request_id });
  const headers = new Headers(envelope.headers);
  const isText = typeof body === 'string';
  headers.set('content-type', isText ? 'text/plain; charset=utf-8' : 'application/json');
  return new Response(isText ? body : JSON.stringify(body), { status, headers });
}
