import { inEnglish } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import type { Recount } from '../http/limits.ts';
import { createResponseCache } from '../http/response-cache.ts';
import { type Call, json, type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { createShares, type Shares } from '../lib/shares.ts';
import { judgeAnswer } from './check/judge.ts';
import * as described from './descriptions.ts';
import { refreshEvents } from './pool/events.ts';
import { createLineFormat, visible } from './pool/export.ts';
import type { ProxyFilter } from './proxy.ts';
import { eventsQuery, exportQuery, type ListQuery, listQuery, queryView, toFilter } from './queries.ts';
import { idParams, MOST_ENTRIES, partOf, quickTestBody, reportBody, sourcesQuery } from './schemas.ts';
import type { ProxyService } from './service.ts';
import { MOST_PAGED } from './targets/ranking.ts';
import type { Targets } from './targets/targets.ts';
import type { Witness } from './targets/testimony.ts';
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
  /** Path under which browsers reach the pool. Default: none. */
  basePath?: string;
  /** The secret with which our own judge proves its answers. Default: no proof. */
  judgeSecret?: () => string | undefined;
  /** Counts reads of a client beyond the one that each request is. Default: they are not counted. */
  countReads?: Recount | undefined;
  /** Ms since 1970. Default: the system's clock. */
  now?: () => number;
}

const DEFAULT_ENTRIES = 50;
/** Open event streams, each of which holds a connection. */
const LISTENERS = {
  each: 20,
  all: 500,
  fullMessage: inEnglish('You already have 20 open event streams.'),
  busyMessage: inEnglish('There are too many open event streams.'),
};
const EXPORTS = {
  each: 4,
  fullMessage: inEnglish('Four of your exports are running; wait for one to finish.'),
};

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

/** Reading all of 20,000 proxies takes 50 ms of CPU, and a page 1 to 3. */
const MATCHES_PER_READ = 500;

/** Counts what reads all matches of a filter as more than the one read that each request is. */
export async function countMatches(
  { service, countReads }: { service: Pick<ProxyService, 'list'>; countReads?: Recount | undefined },
  { peer }: Pick<RequestContext, 'peer'>,
  filter: ProxyFilter,
): Promise<void> {
  if (!countReads) return;
  const { total } = await service.list({ filter, sort: 'dependable', offset: 0, limit: 1 });
  const more = Math.floor(total / MATCHES_PER_READ);
  if (more > 0) await countReads(peer, more);
}

/** What the handlers share. */
interface Shared extends Required<ProxyRoutesOptions> {
  listeners: Shares;
  exports: Shares;
}

/** The HTTP interface of the proxy pool, except `GET /api/stats`, which both services share. */
export function proxyRoutes({
  basePath = '',
  judgeSecret = () => undefined,
  countReads,
  now = Date.now,
  ...options
}: ProxyRoutesOptions): Route[] {
  const { service } = options;
  const cached = createResponseCache({ version: service.version });
  const listeners = createShares(LISTENERS);
  const exports = createShares(EXPORTS);
  const shared: Shared = { ...options, basePath, judgeSecret, countReads, now, listeners, exports };
  return [
    route('GET /api/v1/proxies', (call) => list(shared, call), {
      query: listQuery,
      cached,
      about: described.list,
    }),
    route('GET /api/export', (call) => exportList(shared, call), {
      query: exportQuery,
      about: described.exportList,
    }),
    route('GET /api/status', async () => unkept(statusView(await service.status())), {
      about: described.status,
    }),
    route('GET /api/filters', async () => Response.json(await service.filters(), { headers: REVALIDATE }), {
      cached,
      about: described.filters,
    }),
    route('GET /api/proxy/:id', (call) => showProxy(shared, call), {
      params: idParams,
      about: described.details,
    }),
    route('POST /api/proxy/:id/test', (call) => startTest(shared, call), {
      params: idParams,
      limit: 'test',
      about: described.startTest,
    }),
    route('POST /api/test_proxy_quick', (call) => testQuick(shared, call), {
      body: json(quickTestBody, forgive),
      limit: 'test',
      about: described.quickTest,
    }),
    route('POST /api/proxy/:id/report', (call) => report(shared, call), {
      params: idParams,
      body: json(reportBody),
      limit: 'report',
      about: described.report,
    }),
    route('POST /api/refresh', (call) => startRefresh(shared, call), {
      limit: 'job',
      admin: 'once set',
      about: described.startRefresh,
    }),
    route('GET /api/refresh', () => showRefresh(shared), { about: described.currentRefresh }),
    route('GET /api/sources', (call) => listSources(shared, call), {
      query: sourcesQuery,
      about: described.sources,
    }),
    route('GET /api/refresh/events', (call) => followRefresh(shared, call), {
      query: eventsQuery,
      about: described.events,
    }),
    route('GET /api/judge', (call) => judge(shared, call), { about: described.judge }),
  ];
}

type OfProxy = { params: typeof idParams };

/** Lists a page of the pool. */
async function list(shared: Shared, { query, context }: Call<{ query: ListQuery }>): Promise<Response> {
  const { service, targets, now } = shared;
  const { target, format = 'json', sort = 'dependable', offset = 0 } = query;
  const random = query.random && target === undefined;
  const limit = Math.min(query.limit ?? DEFAULT_ENTRIES, MOST_ENTRIES);
  const { admin } = context;
  const filter = visible(toFilter(query, now()), format, admin);
  const uniqueExit = query.unique !== undefined;
  if (uniqueExit || (target !== undefined && offset + limit > MOST_PAGED))
    await countMatches(shared, context, filter);
  const part = { filter, uniqueExit, offset: random ? 0 : offset, limit };
  const { items, total } =
    target === undefined
      ? await service.list({ ...part, sort: random ? 'random' : sort })
      : await targets.list({ ...part, target, witness: witnessOf(context) });
  // An age is relative to the time of the request, so such an answer cannot be cached. Knowledge about a
  // target changes independently of the pool.
  const lasting = !admin && !random && target === undefined && query.max_age === undefined;
  const caching = lasting ? REVALIDATE : NO_STORE;
  if (format !== 'json') {
    const headers = { ...TEXT, ...caching, 'x-total-count': String(total) };
    const write = createLineFormat(format, { remoteDns: query.remote_dns ?? false, logins: admin });
    return new Response(items.map(write).join(''), { headers });
  }
  return Response.json(listView({ items, total }, queryView(query, filter, limit)), { headers: caching });
}

/** Streams all matches as a download. */
async function exportList(
  shared: Shared,
  { query, context }: Call<{ query: typeof exportQuery }>,
): Promise<Response> {
  const { service, targets, now, exports } = shared;
  const { format = 'standard', target, sort = 'dependable', offset = 0 } = query;
  const random = query.random && target === undefined;
  const { admin, payer } = context;
  const filter = visible(toFilter(query, now()), format, admin);
  const text = service.export({
    filter,
    order: random ? 'random' : sort,
    ranked: target === undefined ? undefined : targets.all({ filter, target, witness: witnessOf(context) }),
    offset: random ? 0 : offset,
    limit: query.limit ?? Number.POSITIVE_INFINITY,
    format,
    remoteDns: query.remote_dns ?? false,
    uniqueExit: query.unique === 'exit_ip',
    logins: admin,
  });
  await countMatches(shared, context, filter);
  const { type, extension } = FILES[format];
  const disposition = `attachment; filename="proxies.${extension}"`;
  const headers = { ...NO_STORE, 'content-type': type, 'content-disposition': disposition };
  return new Response(streamOf(text, exports.enter(payer)), { headers });
}

async function showProxy({ service }: Shared, { params, context }: Call<OfProxy>): Promise<Response> {
  const view = context.admin ? administratorsView : proxyView;
  return unkept(view(await service.get(params.id)));
}

/** Starts a test without waiting for its result. */
async function startTest(
  { service, basePath }: Shared,
  { params: { id } }: Call<OfProxy>,
): Promise<Response> {
  await service.startTest(id);
  const message = 'The test has started; its result shows on the proxy within seconds.';
  return unkept({ success: true, id, message }, 202, { location: `${basePath}/api/proxy/${id}` });
}

/** Tests a proxy and waits for the result. */
async function testQuick(
  { service }: Shared,
  { body, context }: Call<{ body: typeof quickTestBody }>,
): Promise<Response> {
  const { ip, port, protocol = 'http', proxy_id } = body;
  return unkept(testView(await service.testQuick({ ip, port, protocol, proxyId: proxy_id }, context)));
}

/** Notes whether a proxy worked for the caller. */
async function report(
  { service, targets }: Shared,
  { params, body, context }: Call<OfProxy & { body: typeof reportBody }>,
): Promise<Response> {
  const witness = witnessOf(context);
  const record = await service.report(params.id, body);
  // Anyone may send reports, but only holders of a token are trusted about a site.
  if (witness !== null) targets.reported(witness, record, body.target, body.ok);
  const { id, nextCheck } = record;
  return unkept({ success: true, id, next_check: formatTimestamp(nextCheck) });
}

async function startRefresh({ service, basePath }: Shared, { context }: Call): Promise<Response> {
  const job = jobView(await (context.admin ? service.refresh() : service.refreshUnlessFresh()));
  const status = job.state === 'done' ? 200 : 202;
  return unkept({ success: true, job }, status, { location: `${basePath}/api/refresh` });
}

async function showRefresh({ service }: Shared): Promise<Response> {
  return unkept({ success: true, job: jobView(await service.currentRefresh()) });
}

async function listSources(
  { service }: Shared,
  { query }: Call<{ query: typeof sourcesQuery }>,
): Promise<Response> {
  const all = await service.sources();
  const sources = partOf(all, query).map(sourceView);
  return unkept({ success: true, total: all.length, count: sources.length, sources });
}

/** Streams what happens in refreshes until the caller leaves or the server stops. */
async function followRefresh(
  { service, listeners }: Shared,
  { request, query, context }: Call<{ query: typeof eventsQuery }>,
): Promise<Response> {
  const onEnd = listeners.enter(context.payer);
  try {
    const current = await service.currentRefresh();
    const signal = AbortSignal.any([request.signal, service.stopping]);
    const lastId = request.headers.get('last-event-id');
    const events = refreshEvents(service, current, {
      lastId,
      signal,
      onEnd,
      pool: query.pool ? service : null,
    });
    return new Response(events, {
      headers: { ...NO_STORE, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
    });
  } catch (error) {
    onEnd();
    throw error;
  }
}

/** Shows a request as it arrived, so that checks see what a proxy passes on. */
function judge({ judgeSecret }: Shared, { request, context }: Call): Response {
  const { headers, url } = request;
  return unkept(judgeAnswer({ url: new URL(url), headers, peer: context.peer, secret: judgeSecret() }));
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

/** `null` counts as missing, and a protocol may be in any letter case. */
function forgive(body: unknown): void {
  const fields = body as Record<string, unknown>;
  for (const name of ['protocol', 'proxy_id']) {
    if (fields[name] === null || fields[name] === '') delete fields[name];
  }
  if (typeof fields.protocol === 'string') fields.protocol = fields.protocol.toLowerCase();
}

/** Returns whose word about sites a request brings; `null` for that of anyone. */
function witnessOf({ admin, holder }: RequestContext): Witness | null {
  if (admin) return { id: 'admin', speaksForAll: true };
  return holder && { id: holder.id, speaksForAll: false };
}
