import { Elysia } from 'elysia';
import { coerce } from '../lib/schema.ts';
import type { RequestContext } from './context.ts';
import type { Call, Route } from './route.ts';

/** Returns the answer to what a handler or a check has thrown. */
type Failed = (error: unknown, request: Request, context: RequestContext) => Response;

type Input = Pick<Parameters<Route['handle']>[0], 'query' | 'params' | 'body'>;

export function createRouter(routes: readonly Route[], failed: Failed) {
  const contexts = new WeakMap<Request, RequestContext>();
  const contextOf = (request: Request) => contexts.get(request) as RequestContext;

  const app = new Elysia({ normalize: false, handler: { standardHostname: false } }).onError(
    ({ error, request }) => failed(error, request, contextOf(request)),
  );
  for (const { method, path: pattern, handle, ...declared } of routes) {
    app.route(
      method,
      pattern,
      // Elysia prepares what this code mentions.
      async ({ request, query, params, body, set }) => {
        const input = { query, params, body } as Input;
        const headers = set.headers as Call['headers'];
        return handle({ ...input, request, headers, context: contextOf(request) });
      },
      hooksOf(declared),
    );
  }
  return {
    /** Answers a request; HEAD must be sent as GET. */
    answer(request: Request, context: RequestContext): Promise<Response> {
      contexts.set(request, context);
      return Promise.resolve(app.handle(request));
    },
  };
}

/** Finds the handler of a request, reads and checks its input, and calls it. */
export type Router = ReturnType<typeof createRouter>;

/** Declares the input of a route to Elysia. Texts are converted before they are checked. */
function hooksOf({ query, params, body }: Pick<Route, 'query' | 'params' | 'body'>) {
  type Raw = Record<'query' | 'params', Record<string, unknown>> & { request: Request };
  return {
    ...(query && { query }),
    ...(params && { params }),
    ...(body?.schema && { body: body.schema }),
    parse: body ? ({ request }: { request: Request }) => body.read(request) : ('none' as const),
    // Elysia reads the code of this function, and misreads a minified method.
    transform: (raw: Raw) => {
      if (query) coerce(query, raw.query, raw.request.url);
      if (params) coerce(params, raw.params);
    },
  };
}

/**
 * Creates the answer to HEAD from the answer to GET: status and headers without the body. Elysia's own implementation
 * reads the whole body to count it, even if it is huge or endless. This one only counts JSON, which is in memory.
 */
export async function withoutBody(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const headers = new Headers(response.headers);
  if (!headers.has('content-length') && headers.get('content-type')?.startsWith('application/json')) {
    headers.set('content-length', String((await response.arrayBuffer()).byteLength));
  } else {
    await response.body?.cancel();
  }
  // The runtime would send the length 0 for no body, which GET does not have. Nobody reads this one.
  const isUnknown = !headers.has('content-length');
  return new Response(isUnknown ? new ReadableStream() : null, { status: response.status, headers });
}
