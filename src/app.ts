import type { Holders } from './access/holders.ts';
import { createRights, type Rights } from './access/rights.ts';
import { AppError, invalidParameter, message } from './errors.ts';
import type { Feature } from './feature.ts';
import type { FindingSource } from './findings/finding.ts';
import { createAdmissionQueue, Overloaded } from './http/admission-queue.ts';
import type { Contexts, PeerOf, RequestContext } from './http/context.ts';
import type { Cors } from './http/cors.ts';
import { speak } from './http/dialect.ts';
import { errorResponse, toAppError } from './http/errors.ts';
import { Exchange, type Plan, type Step } from './http/exchange.ts';
import { KeptHeaders } from './http/kept-headers.ts';
import type { Count, InFlight, Limited, Limits, Patience } from './http/limits.ts';
import { describeApi } from './http/openapi.ts';
import { toOpenApi30 } from './http/openapi-3-0.ts';
import { createRequestMeter, RequestFacts } from './http/request-facts.ts';
import { below, type Route, route } from './http/route.ts';
import { createRouteTable, type Matched } from './http/route-table.ts';
import { createRouter, type Router, withoutBody } from './http/router.ts';
import { metricsRoutes, statsRoutes, systemRoutes } from './http/system-routes.ts';
import { createTargets } from './http/target.ts';
import { createWriteOrigin } from './http/write-origin.ts';
import type { Log } from './lib/logger.ts';
import type { Metrics } from './lib/metrics.ts';
import { once } from './lib/once.ts';
import { docsRoutes } from './web/docs-page.ts';
import { errorPage } from './web/error-page.ts';
import { isForPerson } from './web/page-response.ts';
import { type WebRoutesOptions, webRoutes } from './web/routes.ts';

export interface AppOptions {
  version: string;
  features: readonly Feature[];
  /** What all pages share. */
  web: Omit<WebRoutesOptions, 'sections'>;
  contexts: Contexts;
  /** `null` if nobody is limited. */
  limits: Pick<Limits, 'of'> | null;
  /** Limits how many bytes of a client are being answered at once. Default: unlimited. */
  inFlight?: InFlight | undefined;
  /** Delays refusals to clients that ignore them. Default: no delay. */
  patience?: Patience | undefined;
  /** What must work for the server to be ready. */
  health: readonly FindingSource[];
  /** Base of all links, when it is configured. */
  publicUrl: string | undefined;
  /** Host names, besides that of `publicUrl`, under which our own pages may change something. */
  allowedHosts?: readonly string[] | undefined;
  log: Log;
  /** Milliseconds; only differences count. */
  now: () => number;
  /** Counts requests and serves `GET /metrics`, which needs the token if there is one. */
  metrics?: { registry: Metrics; token?: string | undefined };
  /** Default: scripts of other origins can read nothing. */
  cors?: Cors | undefined;
  /** Recognises tokens. Default: none are recognised. */
  holders?: Holders;
  uploadNeedsToken?: boolean;
  /** Routes of the server itself, such as those for its administrator. */
  routes?: readonly Route[];
  /** Rejects with `forbidden` for clients that may only read. */
  mayWrite?: (peer: string) => Promise<void>;
}

/** What monitors ask for every few seconds: logged as `debug` while it succeeds. */
const PROBES = new Set(['/livez', '/readyz', '/metrics']);

export function createApp(options: AppOptions) {
  const { contexts, patience, log, now, cors, web } = options;
  const rights = createRights({
    holders: options.holders,
    adminIsSet: contexts.adminIsSet,
    uploadNeedsToken: options.uploadNeedsToken ?? false,
  });
  const { routes, describe } = allRoutes(options, rights);
  const router = createRouter(routes, failed);
  const targets = createTargets();
  const table = createRouteTable(routes, createPlanner(options, rights, router));

  function begin(incoming: Request, peerOf: PeerOf): Exchange {
    const wellFormed = targets.withAuthority(incoming);
    const request = wellFormed ?? incoming;
    const place = table.at(request.url);
    return new Exchange({
      request,
      path: place.path,
      context: contexts.open(request, incoming, peerOf),
      plan: (wellFormed ? place : table.nowhere).of(request.method),
      malformed: wellFormed === null,
      startedAt: now(),
    });
  }

  function run(exchange: Exchange, first = 0): Response | Promise<Response> {
    const { steps } = exchange.plan;
    try {
      for (let place = first; place < steps.length; place++) {
        const answer = steps[place]?.(exchange);
        if (answer instanceof Promise) return wait(exchange, answer, place + 1);
        if (answer) return finish(exchange, answer);
      }
      throw new Error('no step answered');
    } catch (error) {
      return fail(exchange, error);
    }
  }

  async function wait(exchange: Exchange, pending: Promise<Response | undefined>, next: number) {
    try {
      const answer = await pending;
      return answer ? finish(exchange, answer) : run(exchange, next);
    } catch (error) {
      return fail(exchange, error);
    }
  }

  function fail(exchange: Exchange, error: unknown): Response | Promise<Response> {
    const { request, context, route } = exchange;
    const response = withCommonHeaders(failed(error, request, context));
    if (response.status === 405) response.headers.set('allow', route.allow);
    return finish(exchange, response);
  }

  /** Returns the error envelope, or a page for people, unless a password in a header was needed. */
  function failed(thrown: unknown, request: Request, { id: requestId, dialect }: RequestContext): Response {
    const error = toAppError(thrown);
    // A flood is not a fault. Logging each request would also fill the log.
    const isFault = /^(internal|unavailable)$/.test(error.code) && !(error instanceof Overloaded);
    if (isFault || (error.code === 'storage_full' && error.cause !== undefined)) {
      log('error', 'request failed', { request_id: requestId, cause: error.cause ?? error });
    }
    const envelope = errorResponse(error, requestId);
    const isForeign = dialect ?? table.at(request.url).of(request.method).route.dialect?.(request);
    const isPassword = envelope.status === 401 && error.code !== 'unauthorized';
    if (isPassword || isForeign || !isForPerson(request)) return envelope;
    return errorPage(web.siteOf(request), error, envelope, requestId);
  }

  function finish(exchange: Exchange, response: Response): Response | Promise<Response> {
    const { request, plan, context, startedAt } = exchange;
    const { status } = response;
    if (!exchange.stamped) exchange.stamp(new KeptHeaders(response.headers));
    cors?.allow(request, response.headers);
    const ms = now() - startedAt;
    plan.count?.(status, ms);
    const level = PROBES.has(exchange.path) && status < 400 ? 'debug' : 'info';
    log(status >= 500 ? 'error' : level, 'request', new RequestFacts(exchange, status, ms));
    const held = status === 429 ? patience?.holdBack(context.payer) : null;
    const dialect = status >= 400 ? exchange.dialect : null;
    if (dialect) return Promise.resolve(held).then(() => speak(response, dialect));
    return held ? held.then(() => response) : response;
  }

  return {
    /** Returns the OpenAPI document. */
    describe,
    /** Answers one request. Never throws or rejects. */
    handle: (request: Request, peerOf: PeerOf) => run(begin(request, peerOf)),
  };
}

export type App = ReturnType<typeof createApp>;

/** Creates the function that decides at the start what is done with each request of a route. */
function createPlanner(options: AppOptions, rights: Rights, router: Router): (route: Matched) => Plan {
  const { limits, metrics } = options;
  const meter = metrics && createRequestMeter(metrics.registry);
  const gates = createGates(options);
  const dispatch = createDispatch(options, router);

  return (route) => {
    const { found, reading, method } = route;
    /** In order, from the match to the logging of the answer. A request without a host matches no route. */
    const steps = [
      limits && countAgainst(limits.of(route)),
      !found && gates.demandHost,
      method === 'OPTIONS' && gates.answerPreflight,
      !reading && gates.refuseForeignPages,
      !found && gates.refuseUnknown,
      rights.recognise,
      // First, so that wrong tokens are counted.
      rights.guardOf(route),
      !reading && !route.evenBlocked && gates.refuseBlocked,
      dispatch,
    ].filter((step) => typeof step === 'function');
    return { route, steps, count: meter?.(route) ?? null };
  };
}

/** Creates the step that counts requests against the limits of their route. */
function countAgainst(count: Count): Step {
  const note = (exchange: Exchange, known: Limited): undefined => {
    exchange.rate = known;
    if (known.refusal) throw known.refusal;
  };
  return (exchange) => {
    const limited = count(exchange.request, exchange.context.peer);
    if (limited instanceof Promise) return limited.then((known) => note(exchange, known));
    return note(exchange, limited);
  };
}

/** Creates the steps that refuse requests before anyone is identified. */
function createGates({ cors, mayWrite, publicUrl, allowedHosts }: AppOptions) {
  const originRefusal = createWriteOrigin({
    publicUrl,
    allowedHosts,
    isLetIn: (origin) => cors?.isLetIn(origin) ?? false,
  });

  return {
    demandHost({ malformed }: Exchange): undefined {
      if (malformed) throw invalidParameter('Host', 'The header Host must name one host.');
    },

    answerPreflight({ request }: Exchange): Response | undefined {
      return cors?.preflight(request) ?? undefined;
    },

    refuseForeignPages({ request, context, route }: Exchange): undefined {
      const refusal = originRefusal(request, context, route.limit === 'upload');
      if (refusal) throw refusal;
    },

    refuseUnknown({ route: { allow } }: Exchange): undefined {
      if (allow !== '')
        throw new AppError(
          'method_not_allowed',
          message('This path accepts only {methods}.', { methods: allow }),
        );
      throw new AppError('not_found', 'There is nothing at this path.');
    },

    refuseBlocked({ context }: Exchange): undefined | Promise<undefined> {
      if (!mayWrite || context.moderates) return;
      return mayWrite(context.peer).then(() => undefined);
    },
  };
}

/** Creates the last step, which returns the cached answer, or that of the router after a wait in the queue. */
function createDispatch({ inFlight, metrics }: AppOptions, router: Router): Step {
  const admission = createAdmissionQueue(metrics?.registry);

  async function answerAnew({ route, request, context }: Exchange): Promise<Response> {
    const leave = inFlight?.(context.payer, route);
    try {
      if (route.queued) await admission.next();
      const asGet = request.method === 'HEAD' ? new Request(request, { method: 'GET' }) : request;
      return withCommonHeaders(await router.answer(asGet, context));
    } finally {
      leave?.();
    }
  }

  return (exchange) => {
    const { cached, method } = exchange.route;
    const answer = cached ? cached.answer(exchange, answerAnew) : answerAnew(exchange);
    return method === 'HEAD' ? Promise.resolve(answer).then(withoutBody) : answer;
  };
}

function allRoutes(options: AppOptions, { neededBy }: Pick<Rights, 'neededBy'>) {
  const { web, features, version, publicUrl } = options;
  const described = describedRoutes(options);
  const describe = once(async () =>
    describeApi(described, { version, serverUrl: publicUrl ?? '/', neededBy }),
  );
  const describeOlder = once(async () => toOpenApi30(await describe()));
  // Pictures come first, because most visitors request them.
  const sections = features.toReversed().flatMap(({ home }) => home ?? []);
  const routes = [
    ...described,
    route('GET /openapi.json', async () => Response.json(await describe())),
    route('GET /openapi-3.0.json', async () => Response.json(await describeOlder())),
    ...docsRoutes(web.siteOf, describe),
    ...webRoutes({ ...web, sections }),
  ];
  return { routes, describe };
}

/** Returns the routes among which are those of the API description. */
function describedRoutes({ features, health, metrics, routes = [], now }: AppOptions): Route[] {
  const groups = Map.groupBy(features, (feature) => feature.basePath);
  return [
    ...systemRoutes(health),
    ...(metrics ? metricsRoutes(metrics.registry, metrics.token) : []),
    ...routes,
    ...[...groups].flatMap(([basePath, group]) =>
      below(basePath, [
        ...group.flatMap(({ name, routes }) => routes.map((one) => taggedAs(name, one))),
        ...statsRoutes(group, now),
      ]),
    ),
  ];
}

function taggedAs(tag: string, one: Route): Route {
  return one.about === undefined ? one : { ...one, about: { tag, ...one.about } };
}

/** Adds the headers of every answer. */
function withCommonHeaders(response: Response): Response {
  response.headers.set('x-content-type-options', 'nosniff');
  const { headers } = response;
  // Bun adds a charset, which JSON does not have (RFC 8259, 11).
  if (headers.get('content-type')?.startsWith('application/json;'))
    headers.set('content-type', 'application/json');
  if (!headers.has('referrer-policy')) headers.set('referrer-policy', 'no-referrer');
  // A 304 must not change the headers that the browser has stored.
  if (response.status !== 304 && !headers.has('cross-origin-resource-policy')) {
    headers.set('cross-origin-resource-policy', 'same-origin');
  }
  return response;
}
