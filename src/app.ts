import { type AnyElysia, Elysia } from 'elysia';
import { AppError, invalidParameter } from './errors.ts';
import type { Feature } from './feature.ts';
import { createAdmissionQueue, Overloaded } from './http/admission-queue.ts';
import type { Contexts } from './http/context.ts';
import type { Cors } from './http/cors.ts';
import { errorResponse, toAppError } from './http/errors.ts';
import { withoutBody } from './http/head.ts';
import type { Limits, RateHeaders } from './http/limits.ts';
import { createMethodTable } from './http/methods.ts';
import { metricsRoutes } from './http/metrics-routes.ts';
import { createPrometheus } from './http/prometheus.ts';
import type { RequestContext } from './http/request-context.ts';
import { createRequestMeter } from './http/request-meter.ts';
import { createResponseCaches } from './http/response-caches.ts';
import { statsRoute } from './http/stats-route.ts';
import { type Dependency, systemRoutes } from './http/system-routes.ts';
import { pathOf, withAuthority } from './http/target.ts';
import { createWriteOrigin } from './http/write-origin.ts';
import type { Log } from './lib/logger.ts';
import type { Metrics } from './lib/metrics.ts';
import type { Assets } from './web/assets.ts';
import { docsRoutes } from './web/docs-routes.ts';
import { errorPage } from './web/error-page.ts';
import { isForPerson } from './web/navigation.ts';
import { webRoutes } from './web/routes.ts';
import type { Site } from './web/site.ts';

export interface AppOptions {
  version: string;
  features: readonly Feature[];
  /** What all pages share. */
  web: { site: Site; assets: Assets };
  contexts: Contexts;
  /** `null`: nobody is limited. */
  limits: Limits | null;
  dependencies: readonly Dependency[];
  /** Base of all links, when it is configured. */
  publicUrl: string | undefined;
  log: Log;
  /** Milliseconds; only differences count. */
  now: () => number;
  /** Counts requests, and answers `GET /metrics`; where a token is given, to those alone who bring it. */
  metrics?: { registry: Metrics; token?: string | undefined };
  /** Not given: scripts of other origins read nothing. */
  cors?: Cors | undefined;
  /** Routes of the server itself, such as those for its administrator. */
  routes?: AnyElysia;
  /** Rejects with `forbidden` for clients that may only read. */
  mayWrite?: (peer: string) => Promise<void>;
}

export interface App {
  /** Answers one request; never rejects. */
  handle(request: Request, socketPeer: () => string): Response | Promise<Response>;
  /** The OpenAPI document. */
  describe(): Promise<object>;
}

/** What watches the server is answered however many wait. */
const NEVER_WAITING = new Set(['/livez', '/readyz', '/metrics']);

export function createApp(options: AppOptions): App {
  const { contexts, limits, log, now, cors, metrics, mayWrite, web } = options;
  // What describes the API is 2 MB of script, which no start should wait for.
  const description = memoize(async () => {
    const { describeApi } = await import('./http/openapi.ts');
    return describeApi(described, options.version, options.publicUrl ?? '/');
  });
  const described = publicRoutes(options);
  const router = new Elysia({ normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request }) => failed(error, request))
    .use(described)
    .get('/openapi.json', async () => Response.json(await description()))
    .use(docsRoutes(web.site, description, contexts.of))
    // Pictures come first: they are what most visitors come with.
    .use(webRoutes({ ...web, sections: options.features.toReversed().flatMap(({ home }) => home ?? []) }));
  const allowedMethods = createMethodTable(router.routes);
  const meter = metrics && createRequestMeter(metrics.registry, router.routes);
  const quicks = options.features.flatMap(({ quick }) => quick ?? []);
  const kept = createResponseCaches(options.features, now);
  const admission = createAdmissionQueue({ metrics: metrics?.registry });
  const writeOrigin = createWriteOrigin({
    publicUrl: options.publicUrl,
    isLetIn: (origin) => cors?.isLetIn(origin) ?? false,
  });

  /** The error envelope; a person gets a page, but for what a password in a header opens. */
  function failed(thrown: unknown, request: Request): Response {
    const error = reported(thrown, request);
    const { id } = contexts.of(request);
    const envelope = errorResponse(error, id);
    if (envelope.status === 401 || !isForPerson(request)) return envelope;
    return errorPage(web.site, error, envelope, id);
  }

  /** Elysia reports a wrong method as an unknown path; what is wrong in the server is logged, not shown. */
  function reported(error: unknown, request: Request): AppError {
    const known = toAppError(error);
    if (known.code === 'not_found' && !(error instanceof AppError)) return wrongMethod(request) ?? known;
    if (known.code === 'internal' || (known.code === 'unavailable' && !(known instanceof Overloaded))) {
      log('error', 'request failed', { request_id: contexts.of(request).id, cause: known.cause ?? known });
    }
    return known;
  }

  function wrongMethod(request: Request): AppError | null {
    const allowed = allowedMethods(pathOf(request.url));
    if (allowed.length === 0) return null;
    return new AppError('method_not_allowed', `This path answers ${allowed.join(', ')} only.`);
  }

  function quickAnswer(request: Request): Response | null {
    for (const quick of quicks) {
      const response = quick(request);
      if (response) return response;
    }
    return null;
  }

  async function answer(request: Request): Promise<Response> {
    if (request.method === 'HEAD') {
      const asGet = new Request(request, { method: 'GET' });
      contexts.share(request, asGet);
      return withoutBody(await routed(asGet));
    }
    if (request.method !== 'GET') return routed(request);
    const quick = quickAnswer(request);
    if (quick) return quick;
    const path = pathOf(request.url);
    const cache = kept.at(path);
    return cache ? cache.answer(request, path, () => routed(request)) : routed(request);
  }

  async function routed(request: Request): Promise<Response> {
    // What brings a body begins at once: while it waited, the body would pile up in memory.
    if (isReading(request) && !NEVER_WAITING.has(pathOf(request.url))) await admission.next();
    return sealed(await router.handle(request));
  }

  /** A kept or quick answer, which most requests get: without the router, a promise, or a context. */
  function keptAnswer(request: Request, socketPeer: () => string): Response | null {
    if (limits || cors || request.method !== 'GET') return null;
    const { url } = request;
    const match = kept.matchNow(request, url, contexts.idOf);
    if (match) return counted(request, socketPeer, match.response, match.path);
    const quick = quickAnswer(request);
    if (!quick) return null;
    quick.headers.set('x-request-id', contexts.idOf(request));
    return counted(request, socketPeer, quick, pathOf(url));
  }

  /** An answer that took no time to speak of. */
  function counted(request: Request, socketPeer: () => string, response: Response, path: string): Response {
    const { status } = response;
    meter?.('GET', path, status, 0);
    log('info', 'request', () => {
      const id = response.headers.get('x-request-id') ?? '';
      return factsOf(request, contexts.open(request, socketPeer, id), path, status, 0);
    });
    return response;
  }

  /** `malformed`: the fault of a request that names no host. */
  async function handle(
    request: Request,
    socketPeer: () => string,
    malformed: AppError | null = null,
  ): Promise<Response> {
    const startedAt = now();
    const context = contexts.open(request, socketPeer);
    let response: Response;
    let rateHeaders: RateHeaders | undefined;
    try {
      const limited = await limits?.(request, context);
      rateHeaders = limited?.headers;
      if (limited?.refusal) throw limited.refusal;
      if (malformed) throw malformed;
      const foreign = isReading(request) ? null : writeOrigin.refusal(request, context);
      if (foreign) throw foreign;
      if (mayWrite && !isReading(request) && !context.admin) await mayWrite(context.peer);
      response = cors?.preflight(request) ?? (await answer(request));
    } catch (error) {
      response = sealed(failed(error, request));
    }
    const { headers, status } = response;
    headers.set('x-request-id', context.id);
    const path = pathOf(request.url);
    if (status === 405) headers.set('allow', allowedMethods(path).join(', '));
    cors?.allow(request, headers);
    for (const name in rateHeaders) headers.set(name, rateHeaders[name] ?? '');
    const ms = now() - startedAt;
    meter?.(request.method, path, status, ms);
    log(status >= 500 ? 'error' : 'info', 'request', () => factsOf(request, context, path, status, ms));
    return response;
  }

  return {
    describe: description,
    handle(incoming, socketPeer) {
      const request = withAuthority(incoming);
      if (request) return keptAnswer(request, socketPeer) ?? handle(request, socketPeer);
      return handle(incoming, socketPeer, invalidParameter('Host', 'The header Host must name one host.'));
    },
  };
}

/** What is logged of a request. */
function factsOf(
  { method }: Request,
  { id, peer }: RequestContext,
  path: string,
  status: number,
  ms: number,
) {
  return { request_id: id, method, path, status, ms: Math.round(ms), peer };
}

/** Everything that the API description speaks of. */
function publicRoutes({ features, dependencies, metrics, routes }: AppOptions): AnyElysia {
  const app = new Elysia({ normalize: false }).use(systemRoutes(dependencies));
  if (metrics) app.use(metricsRoutes(createPrometheus(metrics.registry), metrics.token));
  if (routes) app.use(routes);
  for (const [basePath, group] of Map.groupBy(features, (feature) => feature.basePath)) {
    const mounted = new Elysia({ prefix: basePath, normalize: false });
    for (const feature of group) mounted.use(feature.routes);
    app.use(mounted.use(statsRoute(group)));
  }
  return app;
}

/** Adds what every answer carries. */
function sealed(response: Response): Response {
  response.headers.set('x-content-type-options', 'nosniff');
  const { headers } = response;
  if (!headers.has('referrer-policy')) headers.set('referrer-policy', 'no-referrer');
  // A 304 must not change what the browser has kept of the answer before.
  if (response.status !== 304 && !headers.has('cross-origin-resource-policy')) {
    headers.set('cross-origin-resource-policy', 'same-origin');
  }
  return response;
}

function isReading({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

function memoize<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
