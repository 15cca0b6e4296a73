import { AppError, inEnglish, invalidField, invalidParameter, message } from '../../errors.ts';
import type { RequestContext } from '../../http/context.ts';
import type { Recount } from '../../http/limits.ts';
import { type Call, type Caller, form, type Route, route } from '../../http/route.ts';
import { pageResponse, seeOther } from '../../web/page-response.ts';
import type { HomeSection } from '../../web/routes.ts';
import type { Site, SiteOf } from '../../web/site.ts';
import { type JudgesState, type Scheme, schemeFor } from '../check/judges.ts';
import { visible } from '../pool/export.ts';
import { PROTOCOLS, type ProxyFilter, type ProxyRecord } from '../proxy.ts';
import { EXPORT_FORMATS, toFilter } from '../queries.ts';
import { countMatches } from '../routes.ts';
import type { ProxyService } from '../service.ts';
import type { ProxyQuery } from '../store.ts';
import type { Flags } from './flags.ts';
import { createLinks, type PageQuery, PER_PAGE, parametersOf, readPageQuery } from './page-query.ts';
import { poolLine } from './pool-overview.ts';
import { proxiesPage } from './proxies-page.ts';
import { MOST_COPIED } from './proxy-table.ts';
import type { GatewayPanel } from './use-it.ts';

interface ProxyPagesOptions {
  service: ProxyService;
  siteOf: SiteOf;
  basePath: string;
  flags: () => Promise<Flags>;
  /** True if only the administrator may start a refresh. */
  adminRequired: boolean;
  /**
   * Returns what users of the gateway need to know, given the request; `null` if the gateway is off.
   */
  gateway: ((context: RequestContext) => GatewayPanel) | null;
  /** As for the routes of the API. */
  countReads?: Recount | undefined;
  /** Ms since 1970. */
  now: () => number;
}

/** Renders the page of the pool. */
export async function showProxies(
  options: ProxyPagesOptions,
  { request, context }: Caller,
): Promise<Response> {
  const { service, basePath } = options;
  const site = options.siteOf(request);
  const now = options.now();
  const query = readPageQuery(new URL(request.url).searchParams);
  const { range } = query;
  const status = service.status();
  const [pool, poolStatus, checkedAt, { items, total }, flags] = await Promise.all([
    service.overview(range === '1d' ? 'day' : 'month'),
    status,
    status.then(({ judges }) => latestChecks(service, judges.schemes)),
    matches(options, context, query, {
      filter: toFilter(query.filter, now),
      offset: (query.page - 1) * PER_PAGE,
      limit: PER_PAGE,
    }),
    options.flags(),
  ]);
  const path = `${basePath}/proxies`;
  const { sources } = poolStatus.refresh;
  const markup = proxiesPage(site, {
    gateway: options.gateway?.(context) ?? null,
    flags,
    overview: { ...pool, range, now },
    freshness: { status: poolStatus, checkedAt, now, adminRequired: options.adminRequired },
    list: {
      path,
      basePath,
      query,
      linkTo: createLinks(path, parametersOf(query)),
      rows: items,
      total,
      countries: pool.summary.countries,
      sources: sources.map(({ name }) => name),
      poolEmpty: pool.summary.total === 0,
      now,
    },
    sources,
    api: `${context.origin}${basePath}/api/v1/proxies`,
  });
  // It shows neither proxies' logins nor tokens, even to the administrator.
  return pageResponse(site, markup, { cache: 'no-cache', compressFor: request });
}

/** Returns a part of the list in its order, or the proxies named by ID. */
async function matches(
  options: Pick<ProxyPagesOptions, 'service' | 'countReads'>,
  context: Pick<RequestContext, 'peer'>,
  { filter: { unique }, ids, sort, reverse }: PageQuery,
  part: Omit<ProxyQuery, 'sort'>,
): Promise<{ items: ProxyRecord[]; total: number }> {
  const { service } = options;
  if (unique !== undefined && ids === null) await countMatches(options, context, part.filter);
  if (ids === null) return service.list({ ...part, sort, reverse, uniqueExit: unique !== undefined });
  const items = await known(service, ids);
  return { items, total: items.length };
}

/** Returns those of the proxies that still exist. */
async function known(service: Pick<ProxyService, 'get'>, ids: readonly number[]): Promise<ProxyRecord[]> {
  const found = await Promise.all(
    ids.map((id) =>
      service.get(id).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'not_found') return null;
        throw error;
      }),
    ),
  );
  return found.filter((record) => record !== null);
}

/**
 * Returns proxies to copy, either those named or the matches of the filters, as lines or records.
 * @throws {AppError} `invalid_parameter`, `unauthorized`, and `not_found` if there are none: a page would say that it has copied them.
 */
export async function copyProxies(
  options: ProxyPagesOptions,
  { request, context }: Caller,
): Promise<Response> {
  const { service } = options;
  const { searchParams } = new URL(request.url);
  const as = searchParams.get('as') ?? 'standard';
  searchParams.delete('as');
  const format = EXPORT_FORMATS.find((one) => one === as);
  if (format === undefined)
    throw invalidField('as', message('must be one of {choices}', { choices: EXPORT_FORMATS.join(', ') }));
  const query = readPageQuery(searchParams);
  const [problem] = query.problems;
  if (problem?.rule !== undefined) throw invalidField(problem.field, problem.rule);
  if (problem) {
    const { field, value, meant } = problem;
    const what = field.endsWith('country') ? `country ${value}` : `parameter ${field}`;
    throw invalidParameter(
      field,
      inEnglish(`There is no ${what}${meant ? `; did you mean ${meant}?` : '.'}`),
    );
  }
  const { admin } = context;
  const part = { offset: 0, limit: MOST_COPIED };
  const filter = visible(toFilter(query.filter, options.now()), format, admin);
  const { items } = await matches(options, context, query, { filter, ...part });
  const shown = filter.login === false ? items.filter(({ login }) => login === null) : items;
  if (shown.length === 0)
    throw new AppError(
      'not_found',
      inEnglish('There is nothing to copy: the proxies are gone or need a login.'),
    );
  const pieces = service.export({
    ...{ filter, order: query.sort, ranked: [shown], ...part, format },
    ...{ remoteDns: false, uniqueExit: false, logins: admin },
  });
  return new Response((await Array.fromAsync(pieces)).join(''), {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  });
}

/** Tests a proxy for a form, and redirects back to its row. */
async function testProxy(
  { service, basePath }: ProxyPagesOptions,
  { body, context }: Call<{ body: URLSearchParams }>,
): Promise<Response> {
  const id = Number(body.get('id'));
  if (!Number.isSafeInteger(id) || id < 1)
    throw invalidParameter('id', inEnglish('id must be the ID of a proxy.'));
  const { ip, port, protocol } = await service.get(id);
  await service.testQuick({ ip, port, protocol, proxyId: id }, context);
  return seeOther(`${basePath}/proxies?id=${id}#p-${id}`);
}

/**
 * Returns when proxies of each kind were last checked if no judge of that kind answers: only then it may be long ago.
 */
async function latestChecks(
  service: Pick<ProxyService, 'list'>,
  schemes: JudgesState['schemes'],
): Promise<Partial<Record<Scheme, number | null>>> {
  const found: Partial<Record<Scheme, number | null>> = {};
  for (const scheme of ['http', 'https'] as const) {
    if (schemes[scheme] !== 'down') continue;
    const protocols = PROTOCOLS.filter((one) => schemeFor(one, schemes.https !== 'none') === scheme);
    const filter: ProxyFilter = { status: 'alive', protocols };
    const { items } = await service.list({ filter, sort: 'last_checked', offset: 0, limit: 1 });
    found[scheme] = items[0]?.lastChecked ?? null;
  }
  return found;
}

/** Returns what the home page of the image host shows of the pool: the way there. */
export async function proxyHome(site: Site, basePath: string): Promise<HomeSection> {
  return { content: poolLine(site, basePath), scripts: [], summary: site.words.proxies.summary };
}

/** The page of the proxy pool, and the targets of its forms. */
export function proxyPageRoutes(options: ProxyPagesOptions): Route[] {
  return [
    route('GET /proxies', (call) => showProxies(options, call)),
    route('GET /proxies/copy', (call) => copyProxies(options, call)),
    route('POST /proxies/test', (call) => testProxy(options, call), { body: form, limit: 'test' }),
  ];
}
