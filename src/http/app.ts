import type { TSchema } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { describe } from '../shared/describe.ts';
import type { Log } from '../shared/logger.ts';
import { type AnswerCache, type AnswerCacheOptions, createAnswerCache } from './answer-cache.ts';
import type { Contexts } from './context.ts';
import { docsRoutes } from './docs.ts';
import { errorResponse, toAppError } from './errors.ts';
import { withoutBody } from './head.ts';
import type { Limits, RateHeaders } from './limits.ts';
import { createMethodTable } from './methods.ts';
import { type Dependency, systemRoutes } from './system-routes.ts';

/** One of the two services, as the application mounts it. */
export interface Feature {
  name: string;
  /** Path under which its routes answer: empty, or `/proxy`. */
  basePath: string;
  routes: AnyElysia;
  /** The answer of `GET /api/stats`; features that share a base path share the answer. */
  stats: () => Promise<object>;
  /** Shape and example of that answer. */
  statsAnswer: { schema: TSchema; example: object };
  /** GET answers that depend on nothing but the URL and `version`. */
  cached?: { paths: readonly string[]; version: AnswerCacheOptions['version'] };
}

export interface AppOptions {
  version: string;
  features: readonly Feature[];
  contexts: Contexts;
  /** `null`: nobody is limited. */
  limits: Limits | null;
  dependencies: readonly Dependency[];
  /** Base of all links, when it is configured. */
  publicUrl: string | undefined;
  log: Log;
  now: () => number;
}

export interface App {
  /** Answers one request; never rejects. */
  handle(request: Request, socketPeer: string): Promise<Response>;
  /** The OpenAPI document. */
  describe(): Promise<object>;
}

export function createApp(options: AppOptions): App {
  const { contexts, limits, log, now } = options;
  // What describes the API is 2 MB of script, which no start should wait for.
  const description = memoize(async () => {
    const { describeApi } = await import('./openapi.ts');
    return describeApi(publicRoutes(options), options.version, options.publicUrl ?? '/');
  });
  const router = new Elysia({ normalize: false })
    .onError(({ error, request }) => errorResponse(reported(error, request), contexts.of(request).id))
    .use(publicRoutes(options))
    .get('/openapi.json', async () => Response.json(await description()))
    .use(docsRoutes());
  const allowedMethods = createMethodTable(router.routes);
  const caches = createCaches(options.features);

  /** Elysia reports a wrong method as an unknown path; what is wrong in the server is logged, not shown. */
  function reported(error: unknown, request: Request): AppError {
    const known = toAppError(error);
    if (known.code === 'not_found' && !(error instanceof AppError)) return wrongMethod(request) ?? known;
    if (known.code === 'internal' || known.code === 'unavailable') {
      log('error', 'request failed', { request_id: contexts.of(request).id, cause: known.cause ?? known });
    }
    return known;
  }

  function wrongMethod(request: Request): AppError | null {
    const allowed = allowedMethods(new URL(request.url).pathname);
    if (allowed.length === 0) return null;
    return new AppError('method_not_allowed', `This path answers ${allowed.join(', ')} only.`);
  }

  async function answer(request: Request): Promise<Response> {
    if (request.method === 'HEAD') {
      const asGet = new Request(request, { method: 'GET' });
      contexts.share(request, asGet);
      return sealed(await withoutBody(await router.handle(asGet)));
    }
    const cache = request.method === 'GET' ? caches.get(pathOf(request.url)) : undefined;
    if (!cache) return sealed(await router.handle(request));
    return (await cache.match(request)) ?? cache.keep(request, sealed(await router.handle(request)));
  }

  return {
    describe: description,
    async handle(request, socketPeer) {
      const startedAt = now();
      const context = contexts.open(request, socketPeer);
      let response: Response;
      let rateHeaders: RateHeaders | undefined;
      try {
        rateHeaders = await limits?.(request, context);
        response = await answer(request);
      } catch (error) {
        response = sealed(errorResponse(reported(error, request), context.id));
      }
      const { headers, status } = response;
      headers.set('x-request-id', context.id);
      if (status === 405) headers.set('allow', allowedMethods(pathOf(request.url)).join(', '));
      for (const name in rateHeaders) headers.set(name, rateHeaders[name] ?? '');
      log(status >= 500 ? 'error' : 'info', 'request', () => ({
        request_id: context.id,
        method: request.method,
        path: pathOf(request.url),
        status,
        ms: Math.round(now() - startedAt),
        peer: context.peer,
      }));
      return response;
    },
  };
}

/** Everything that the API description speaks of. */
function publicRoutes({ features, dependencies }: AppOptions): AnyElysia {
  const app = new Elysia({ normalize: false }).use(systemRoutes(dependencies));
  for (const [basePath, group] of Map.groupBy(features, (feature) => feature.basePath)) {
    const mounted = new Elysia({ prefix: basePath, normalize: false });
    for (const feature of group) mounted.use(feature.routes);
    app.use(mounted.use(statsRoute(group)));
  }
  return app;
}

/** `GET /api/stats`: the one path that both services have. */
function statsRoute(features: readonly Feature[]) {
  const schemas = features.map(({ statsAnswer }) => statsAnswer.schema);
  return new Elysia().get(
    '/api/stats',
    async () => {
      const parts = await Promise.all(features.map(({ stats }) => stats()));
      return Response.json(Object.assign({}, ...parts), { headers: { 'cache-control': 'no-cache' } });
    },
    {
      detail: describe({
        id: features.length > 1 ? 'getStats' : `get${features[0]?.name}Stats`,
        tag: features.length > 1 ? 'Server' : `${features[0]?.name}`,
        summary: 'Numbers about what is stored',
        answers: {
          200: {
            description: 'The numbers of every service at this base path.',
            schema: { type: 'object', allOf: schemas } as never,
            example: Object.assign({}, ...features.map(({ statsAnswer }) => statsAnswer.example)),
          },
        },
      }),
    },
  );
}

function createCaches(features: readonly Feature[]): Map<string, AnswerCache> {
  const caches = new Map<string, AnswerCache>();
  for (const { basePath, cached } of features) {
    if (!cached) continue;
    const cache = createAnswerCache({
      version: cached.version,
      maxEntries: 2000,
      maxAnswerLength: 256 * 1024,
    });
    for (const path of cached.paths) caches.set(basePath + path, cache);
  }
  return caches;
}

/** Adds what every answer carries. */
function sealed(response: Response): Response {
  response.headers.set('x-content-type-options', 'nosniff');
  if (!response.headers.has('referrer-policy')) response.headers.set('referrer-policy', 'no-referrer');
  return response;
}

/** The path of a URL without parsing the rest of it: this runs for every request. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const end = url.indexOf('?', start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}

function memoize<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
