import { AppError } from '../errors.ts';
import type { ContextOf } from '../http/request-context.ts';
import type { HomeSection } from '../web/home-page.ts';
import { pageResponse } from '../web/page-response.ts';
import { poolHome } from '../web/pool-home.ts';
import type { PoolOverview } from '../web/pool-overview.ts';
import { proxiesPage } from '../web/proxies-page.ts';
import type { ProxyRow } from '../web/proxy-table.ts';
import type { Site, SiteOf } from '../web/site.ts';
import type { GatewayPanel } from '../web/use-it.ts';
import { readableAge } from '../web/words.ts';
import type { JudgesState, Scheme } from './check/judges.ts';
import { uptimeOf } from './history.ts';
import {
  ANONYMITIES,
  formatAddress,
  formatUrl,
  PROOFS,
  PROTOCOLS,
  type Protocol,
  type ProxyFilter,
  type ProxyRecord,
  SORTS,
  STATUSES,
} from './proxy.ts';
import { type ListQuery, toFilter } from './queries.ts';
import type { ProxyService } from './service.ts';

export interface ProxyPagesOptions {
  service: ProxyService;
  siteOf: SiteOf;
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
  'min_proof',
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
  const { service, basePath, refreshIntervalMs, adminRequired } = options;
  const site = options.siteOf(request);
  const now = options.now();
  const { page = 1, sort = 'dependable' } = query;
  const status = service.status();
  const [pool, { lastRefresh, refresh, judges }, checkedAt, { items, total }] = await Promise.all([
    service.overview(),
    status,
    status.then(({ judges: { schemes } }) => latestChecks(service, schemes)),
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
      checkedAt,
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
      proofs: PROOFS,
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
  return pageResponse(site, markup, { cache: 'no-cache' });
}

/** When proxies of each kind were checked last, where no judge of that kind answers: only then it may be long ago. */
async function latestChecks(
  service: Pick<ProxyService, 'list'>,
  schemes: JudgesState['schemes'],
): Promise<Partial<Record<Scheme, number | null>>> {
  const found: Partial<Record<Scheme, number | null>> = {};
  for (const scheme of ['http', 'https'] as const) {
    if (schemes[scheme] !== 'down') continue;
    const protocols = schemeProtocols(scheme, schemes.https !== 'none');
    const filter: ProxyFilter = { status: 'alive', protocols };
    const { items } = await service.list({ filter, sort: 'last_checked', offset: 0, limit: 1 });
    found[scheme] = items[0]?.lastChecked ?? null;
  }
  return found;
}

/** The proxies that judges of a scheme are for. Those without TLS hear SOCKS, too, where there are no others. */
function schemeProtocols(scheme: Scheme, hasTls: boolean): readonly Protocol[] {
  const tunnels = ['socks4', 'socks5'] as const;
  if (scheme === 'https') return ['https', ...tunnels];
  return hasTls ? ['http'] : ['http', ...tunnels];
}

/** What the pool shows on the first page, also where the store does not answer. */
export async function proxyHome(
  site: Site,
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
    content: poolHome(site, { basePath, overview, fault, alone, refreshed }),
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
    proof: record.proof,
    login: record.login !== null,
    uptime: uptimeOf(record),
    alive: status === 'alive',
    error,
    lastChecked,
  };
}
