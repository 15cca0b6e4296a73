import type { TObject } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { policy } from '../http/policy.ts';
import { readJson } from '../http/read-json.ts';
import type { ContextOf } from '../http/request-context.ts';
import { createResponseCache } from '../http/response-cache.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { coerce } from '../lib/schema.ts';
import { createShares } from '../lib/shares.ts';
import { judgeAnswer } from './check/judge.ts';
import * as described from './descriptions.ts';
import { refreshEvents } from './events.ts';
import { createLineFormat, visible } from './export.ts';
import { eventsQuery, exportQuery, type ListQuery, listQuery, queryView, toFilter } from './queries.ts';
import { idParams, quickTestBody, reportBody, sourceParams, sourcesQuery } from './schemas.ts';
import type { ProxyService } from './service.ts';
import type { Targets } from './targets/targets.ts';
import {
  administratorsView,
  jobView,
  listView,
  proxyView,
  sourceView,
  statusView,
  testView,
} from './views.ts';

interface ProxyRoutesOptions {
  service: ProxyService;
  targets: Pick<Targets, 'list' | 'all' | 'reported'>;
  contextOf: ContextOf;
  /** The secret with which our own judge proves its answers. Default: no proof. */
  judgeSecret?: () => string;
  /** Ms since 1970. Default: the system's clock. */
  now?: () => number;
}

const MOST_ENTRIES = 500;
const DEFAULT_ENTRIES = 50;
const DEFAULT_SOURCES = 100;
/** Open event streams, each of which holds a connection. */
const LISTENERS = {
  each: 20,
  all: 500,
  fullMessage: 'You already have 20 open event streams.',
  busyMessage: 'There are too many open event streams.',
};
const EXPORTS = { each: 4, fullMessage: 'Four of your exports are running; wait for one to finish.' };

const NO_STORE = { 'cache-control': 'no-store' };
/** Clients may keep the answer but must revalidate it, which costs next to nothing with an ETag. */
const REVALIDATE = { 'cache-control': 'public, max-age=0, must-revalidate' };
const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const LINES_FILE = { type: TEXT['content-type'], extension: 'txt' };
const FILES = {
  standard: LINES_FILE,
  text: LINES_FILE,
  url: LINES_FILE,
  csv: { type: 'text/csv; charset=utf-8', extension: 'csv' },
  json: { type: 'application/json', extension: 'json' },
};

/** The HTTP interface of the proxy pool, except `GET /api/stats`, which both services share. */
export function proxyRoutes(options: ProxyRoutesOptions) {
  const { service, targets, contextOf, judgeSecret, now = Date.now } = options;
  const cached = createResponseCache({ version: service.version });
  const listeners = createShares(LISTENERS);
  const exports = createShares(EXPORTS);

  return new Elysia()
    .get('/api/v1/proxies', async ({ query, request }) => list(query, contextOf(request).admin), {
      query: listQuery,
      transform: coerced(listQuery),
      detail: described.list,
      ...policy({ cached }),
    })
    .get(
      '/api/export',
      ({ query, request }) => {
        const { format = 'standard', target, sort = 'dependable', offset = 0 } = query;
        const random = query.random && target === undefined;
        const { admin, payer } = contextOf(request);
        const filter = visible(toFilter(query, now()), format, admin);
        const text = service.export({
          filter,
          order: random ? 'random' : sort,
          ranked: target === undefined ? undefined : targets.all({ filter, target }),
          offset: random ? 0 : offset,
          limit: query.limit ?? Number.POSITIVE_INFINITY,
          format,
          remoteDns: query.remote_dns ?? false,
          uniqueExit: query.unique === 'exit_ip',
          logins: admin,
        });
        const { type, extension } = FILES[format];
        const disposition = `attachment; filename="proxies.${extension}"`;
        const headers = { ...NO_STORE, 'content-type': type, 'content-disposition': disposition };
        return new Response(streamOf(text, exports.enter(payer)), { headers });
      },
      { query: exportQuery, transform: coerced(exportQuery), detail: described.exportList },
    )
    .get('/api/status', async () => json(statusView(await service.status()), NO_STORE), {
      detail: described.status,
    })
    .get('/api/filters', async () => json(await service.filters(), REVALIDATE), {
      detail: described.filters,
      ...policy({ cached }),
    })
    .get(
      '/api/proxy/:id',
      async ({ params, request }) => {
        const view = contextOf(request).admin ? administratorsView : proxyView;
        return json(view(await service.get(params.id)), NO_STORE);
      },
      { params: idParams, transform: coercedParams, detail: described.details },
    )
    .post(
      '/api/proxy/:id/test',
      async ({ params: { id }, path }) => {
        await service.startTest(id);
        const message = 'The test has started; its result shows on the proxy within seconds.';
        const headers = { ...NO_STORE, location: path.replace(/\/test\/?$/, '') };
        return json({ success: true, id, message }, headers, 202);
      },
      {
        params: idParams,
        transform: coercedParams,
        parse: 'none',
        detail: described.startTest,
        ...policy({ limit: 'test' }),
      },
    )
    .post(
      '/api/test_proxy_quick',
      async ({ request, body: { ip, port, protocol = 'http', proxy_id } }) => {
        const outcome = await service.testQuick(
          { ip, port, protocol, proxyId: proxy_id },
          contextOf(request),
        );
        return json(testView(outcome), NO_STORE);
      },
      {
        body: quickTestBody,
        parse: ({ request }) => readJson(request),
        transform({ body }: { body: unknown }) {
          forgive(body);
        },
        detail: described.quickTest,
        ...policy({ limit: 'test' }),
      },
    )
    .post(
      '/api/proxy/:id/report',
      async ({ params, body, request }) => {
        const { holder, admin } = contextOf(request);
        const record = await service.report(params.id, body);
        // Anyone may send reports, but only holders of a token are trusted about a site.
        if (holder !== null || admin) targets.reported(record, body.target, body.ok);
        const { id, nextCheck } = record;
        return json({ success: true, id, next_check: formatTimestamp(nextCheck) }, NO_STORE);
      },
      {
        params: idParams,
        body: reportBody,
        parse: ({ request }) => readJson(request),
        transform: coercedParams,
        detail: described.report,
        ...policy({ limit: 'report' }),
      },
    )
    .post(
      '/api/refresh',
      async ({ request, path }) => {
        const { admin } = contextOf(request);
        const job = jobView(await (admin ? service.refresh() : service.refreshUnlessFresh()));
        const status = job.state === 'done' ? 200 : 202;
        return json({ success: true, job }, { ...NO_STORE, location: path }, status);
      },
      { parse: 'none', detail: described.startRefresh, ...policy({ limit: 'job', admin: 'once set' }) },
    )
    .get(
      '/api/refresh',
      async () => json({ success: true, job: jobView(await service.currentRefresh()) }, NO_STORE),
      { detail: described.currentRefresh },
    )
    .get(
      '/api/sources',
      async ({ query: { limit = DEFAULT_SOURCES, offset = 0 } }) => {
        const all = await service.sources();
        const sources = all.slice(offset, offset + Math.min(limit, MOST_ENTRIES)).map(sourceView);
        return json({ success: true, total: all.length, count: sources.length, sources }, NO_STORE);
      },
      { query: sourcesQuery, transform: coerced(sourcesQuery), detail: described.sources },
    )
    .post(
      '/api/sources/:name/retry',
      async ({ params }) => {
        const source = sourceView(await service.retrySource(params.name));
        return json({ success: true, source }, NO_STORE);
      },
      {
        params: sourceParams,
        parse: 'none',
        detail: described.retrySource,
        ...policy({ limit: 'job', admin: 'once set' }),
      },
    )
    .get('/api/refresh/events', ({ query, request }) => events(request, query.pool ?? false), {
      query: eventsQuery,
      transform: coerced(eventsQuery),
      detail: described.events,
    })
    .get(
      '/api/judge',
      ({ request }) => {
        const { headers } = request;
        const { peer } = contextOf(request);
        const secret = judgeSecret === undefined ? {} : { secret: judgeSecret() };
        return json(judgeAnswer({ url: new URL(request.url), headers, peer, ...secret }), NO_STORE);
      },
      { detail: described.judge },
    );

  async function list(query: ListQuery, admin: boolean): Promise<Response> {
    const { target, format = 'json', sort = 'dependable', offset = 0 } = query;
    const random = query.random && target === undefined;
    const limit = Math.min(query.limit ?? DEFAULT_ENTRIES, MOST_ENTRIES);
    const filter = visible(toFilter(query, now()), format, admin);
    const uniqueExit = query.unique !== undefined;
    const { items, total } =
      target !== undefined
        ? await targets.list({ filter, target, uniqueExit, offset, limit })
        : uniqueExit
          ? await service.unique({
              filter,
              sort: random ? 'random' : sort,
              offset: random ? 0 : offset,
              limit,
            })
          : random
            ? await service.sample(filter, limit)
            : await service.list({ filter, sort, offset, limit });
    // An age is relative to the time of the request, so such an answer cannot be cached. Knowledge about a
    // target changes independently of the pool.
    const lasting = !admin && !random && target === undefined && query.max_age === undefined;
    const caching = lasting ? REVALIDATE : NO_STORE;
    if (format !== 'json') {
      const headers = { ...TEXT, ...caching, 'x-total-count': String(total) };
      const write = createLineFormat(format, { remoteDns: query.remote_dns ?? false, logins: admin });
      return new Response(items.map(write).join(''), { headers });
    }
    return json(listView({ items, total }, queryView(query, filter, limit)), caching);
  }

  async function events(request: Request, pool: boolean): Promise<Response> {
    const onEnd = listeners.enter(contextOf(request).payer);
    try {
      const current = await service.currentRefresh();
      const signal = AbortSignal.any([request.signal, service.stopping]);
      const lastId = request.headers.get('last-event-id');
      return new Response(
        refreshEvents(service, current, { lastId, signal, onEnd, pool: pool ? service : null }),
        {
          headers: { ...NO_STORE, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
        },
      );
    } catch (error) {
      onEnd();
      throw error;
    }
  }
}

function json(value: object, headers: Record<string, string>, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
  });
}

/** Fetches each chunk when the client has taken the one before. `onEnd` is called once, however the stream ends. */
function streamOf(pieces: AsyncIterable<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next().catch((error: unknown) => {
          onEnd();
          throw error;
        });
        if (!done) return controller.enqueue(encoder.encode(value));
        controller.close();
        onEnd();
      },
      async cancel() {
        onEnd();
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Elysia's hook that prepares a query for its schema. */
function coerced(schema: TObject) {
  return ({ query }: { query: Record<string, unknown> }) => coerce(schema, query);
}

function coercedParams({ params }: { params: Record<string, unknown> }): void {
  coerce(idParams, params);
}

/** `null` counts as missing, and a protocol may be in any letter case. */
function forgive(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  const fields = body as Record<string, unknown>;
  for (const name of ['protocol', 'proxy_id']) {
    if (fields[name] === null || fields[name] === '') delete fields[name];
  }
  if (typeof fields.protocol === 'string') fields.protocol = fields.protocol.toLowerCase();
}
