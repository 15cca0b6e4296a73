import { AppError } from '../errors.ts';
import type { ContextOf } from '../http/request-context.ts';
import type { HomeSection } from '../web/home-page.ts';
import { pageResponse } from '../web/page-response.ts';
import { poolHome } from '../web/pool-home.ts';
import type { PoolOverview } from '../web/pool-overview.ts';
import { proxiesPage } from '../web/proxies-page.ts';
import type { ProxyRow } from '../web/proxy-table.ts';
import type { Site } from '../web/site.ts';
import type { GatewayPanel } from '../web/use-it.ts';
import { readableAge } from '../web/words.ts';
import { uptimeOf } from './history.ts';
import {
  ANONYMITIES,
  formatAddress,
  formatUrl,
  PROTOCOLS,
  type ProxyRecord,
  SORTS,
  STATUSES,
} from './proxy.ts';
import { type ListQuery, toFilter } from './queries.ts';
import type { ProxyService } from './service.ts';

export interface ProxyPagesOptions {
  service: ProxyService;
  site: Site;
  basePath: string;
  /** Time between refreshes. */
  refreshIntervalMs: number;
  /** True where only the administrator may start a refresh. */
  adminRequired: boolean;
  /** What users of the gateway need to know, given the origin of the request; `null` where it is off. */
  gateway: ((origin: string) => GatewayPanel) | null;
  contextOf: ContextOf;
  /** Ms since 1970. */
  now: () => number;
}

const PER_PAGE = 50;
/** Filters that the page offers, as they stand in its URL. */
const FIELDS = [
  'protocol',
  'country',
  'anonymity',
  'status',
  'sort',
  'exclude_country',
  'source',
  'max_latency_ms',
  'max_age',
  'min_uptime',
] as const;

export type PageQuery = Omit<ListQuery, 'limit' | 'offset' | 'random' | 'format'> & { page?: number };

/** The page of the pool. */
export async function showProxies(
  options: ProxyPagesOptions,
  query: PageQuery,
  request: Request,
): Promise<Response> {
  const { service, site, basePath, refreshIntervalMs, adminRequired } = options;
  const now = options.now();
  const { page = 1, sort = 'dependable' } = query;
  const [pool, { lastRefresh, refresh, judges }, { items, total }] = await Promise.all([
    service.overview(),
    service.status(),
    service.list({ filter: toFilter(query, now), sort, offset: (page - 1) * PER_PAGE, limit: PER_PAGE }),
  ]);
  const path = `${basePath}/proxies`;
  const values = Object.fromEntries(FIELDS.map((name) => [name, String(query[name] ?? '')]));
  const markup = proxiesPage(site, {
    gateway: options.gateway?.(options.contextOf(request).origin) ?? null,
    overview: viewOf(pool, now),
    freshness: {
      job: refresh,
      judge: judges.state,
      judges: judges.schemes,
      provable: judges.witnesses.state !== 'down',
      lastRefresh,
      intervalMs: refreshIntervalMs,
      now,
      startable: !adminRequired,
    },
    choices: {
      protocols: PROTOCOLS,
      countries: pool.summary.countries,
      anonymities: ANONYMITIES,
      sources: refresh.sources.map(({ name }) => name),
      sorts: SORTS,
      statuses: STATUSES,
    },
    list: {
      path,
      basePath,
      rows: items.map(rowOf),
      total,
      page,
      pages: Math.ceil(total / PER_PAGE),
      values: {
        ...values,
        country: (query.country ?? '').toUpperCase(),
        exclude_country: (query.exclude_country ?? '').toUpperCase(),
      },
      now,
      poolEmpty: pool.summary.total === 0,
    },
  });
  return pageResponse(markup, { cache: 'no-cache' });
}

/** What the pool shows on the first page, also where the store does not answer. */
export async function proxyHome(
  { service, basePath, now }: Pick<ProxyPagesOptions, 'service' | 'basePath' | 'now'>,
  alone: boolean,
): Promise<HomeSection> {
  let overview: PoolOverview | null = null;
  let refreshed: string | null = null;
  let fault: string | null = null;
  try {
    const [pool, { lastRefresh }] = await Promise.all([service.overview(), service.status()]);
    overview = viewOf(pool, now());
    if (lastRefresh !== null) refreshed = readableAge(now() - lastRefresh);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    fault = error.message;
  }
  return {
    content: poolHome({ basePath, overview, fault, alone, refreshed }),
    scripts: [],
    summary: 'Free public proxies that were proven to work.',
  };
}

function viewOf(
  { summary, countries, samples }: Awaited<ReturnType<ProxyService['overview']>>,
  now: number,
): PoolOverview {
  const { alive, total, averageResponseMs, counts } = summary;
  const countOf = (protocol: string) =>
    counts.find((one) => one.protocol === protocol && one.status === 'alive')?.count ?? 0;
  return {
    alive,
    total,
    averageMs: averageResponseMs,
    protocols: PROTOCOLS.map((protocol) => ({ protocol, count: countOf(protocol) })),
    countries,
    samples: [...samples, { at: now, alive }],
    now,
  };
}

function rowOf(record: ProxyRecord): ProxyRow {
  const { id, ip, port, protocol, country, responseMs, anonymity, status, error, lastChecked } = record;
  return {
    id,
    ip,
    port,
    protocol,
    address: formatAddress(record),
    url: formatUrl(record),
    country,
    responseMs,
    anonymity,
    uptime: uptimeOf(record),
    alive: status === 'alive',
    error,
    lastChecked,
  };
}
