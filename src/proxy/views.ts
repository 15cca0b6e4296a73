import type { Static } from '@sinclair/typebox';
import { formatTimestamp } from '../lib/clock.ts';
import type { TestOutcome } from './check/single-check.ts';
import { MASKED } from './login.ts';
import { recentChecks, reportsOf, uptimeOf } from './pool/history.ts';
import type { PoolStatus, SourceStatus } from './pool/status.ts';
import type { ProxyRecord } from './proxy.ts';
import type { RefreshJob, SourceProgress } from './refresh/progress.ts';
import type {
  jobSchema,
  listSchema,
  proxyDetailsSchema,
  proxySchema,
  quickTestSchema,
  sourceProgressSchema,
  sourceSchema,
  statusSchema,
} from './schemas.ts';

const timeOrNull = (ms: number | null) => (ms === null ? null : formatTimestamp(ms));

function roundedTo<T extends number | null>(share: T, parts: number): T {
  return (share === null ? null : Math.round(share * parts) / parts) as T;
}

/** Returns a record as the public API shows it. */
export function proxyView(record: ProxyRecord): Static<typeof proxySchema> {
  return {
    id: record.id,
    ip: record.ip,
    port: record.port,
    protocol: record.protocol,
    country: record.country,
    response_time: record.responseMs ?? 0,
    last_checked: formatTimestamp(record.lastChecked),
    status: record.status,
    source: record.source,
    anonymity: record.anonymity,
    exit_ip: record.exitIp,
    proof: record.proof,
    tampering: record.tampering === null ? null : record.tampering.split(' ').filter((name) => name !== ''),
    uptime: roundedTo(uptimeOf(record), 1000),
    score: roundedTo(record.uptime, 1000),
    checks: record.checks,
    successes: record.successes,
    first_seen: formatTimestamp(record.firstSeen),
    last_alive: timeOrNull(record.lastAlive),
    error: record.error,
    login: record.login === null ? null : MASKED,
    recent_checks: recentChecks(record.recent),
  };
}

/** Returns a record with the reports of users, which name sites that they visit. */
export function administratorsView(record: ProxyRecord): Static<typeof proxyDetailsSchema> {
  const newestFirst = reportsOf(record).reverse();
  const reports = newestFirst.map(({ at, ...report }) => ({ at: formatTimestamp(at), ...report }));
  return { ...proxyView(record), reports };
}

/** Returns a refresh as the public API shows it. */
export function jobView({
  startedAt,
  finishedAt,
  updatedAt: _,
  jitter: _jitter,
  sources: _sources,
  retryAt,
  ...job
}: RefreshJob): Static<typeof jobSchema> {
  return {
    ...job,
    retry_at: timeOrNull(retryAt),
    started_at: timeOrNull(startedAt),
    finished_at: timeOrNull(finishedAt),
  };
}

/** The state of a list in a refresh. */
export function sourceProgressView({
  pausedUntil = null,
  yield: share = null,
  ...progress
}: SourceProgress): Static<typeof sourceProgressSchema> {
  return { ...progress, yield: roundedTo(share, 10_000), paused_until: timeOrNull(pausedUntil) };
}

/** What is known of a list. */
export function sourceView({ source, health }: SourceStatus): Static<typeof sourceSchema> {
  const { found, fresh, checked, alive, failures, lastRead, lastError, skipUntil } = health;
  return {
    name: source.name,
    protocol: source.protocol,
    found,
    fresh,
    checked,
    alive,
    yield: roundedTo(health.yield, 10_000),
    failures,
    last_read: timeOrNull(lastRead),
    last_error: lastError,
    paused_until: skipUntil === 0 ? null : formatTimestamp(skipUntil),
  };
}

export function statusView({
  condition,
  lastRefresh,
  nextRefresh,
  refresh,
  judges,
}: PoolStatus): Static<typeof statusSchema> {
  return {
    status: 'running',
    condition,
    last_refresh: lastRefresh === null ? '' : formatTimestamp(lastRefresh).slice(0, 16),
    next_refresh: refresh.state === 'running' ? null : formatTimestamp(nextRefresh),
    judge: judges.state,
    judges: judges.schemes,
    witnesses: judges.witnesses.state,
    refresh: jobView(refresh),
  };
}

export function testView({ result, country }: TestOutcome): Static<typeof quickTestSchema> {
  const alive = result.verdict === 'alive';
  return {
    success: true,
    alive,
    status: alive ? 'alive' : 'dead',
    response_time: alive ? Math.max(1, Math.round(result.totalMs)) : null,
    connect_time: alive ? Math.round(result.connectMs) : null,
    first_byte_time: alive ? Math.round(result.firstByteMs) : null,
    country,
    anonymity: alive ? result.anonymity : null,
    exit_ip: alive ? result.exitIp : null,
    tampering: alive ? result.tampering : null,
    proof: alive ? result.proof : null,
    error: alive ? null : result.error,
  };
}

/** Returns a page of the list. `query`: the echo of the request. */
export function listView(
  { items, total }: { items: readonly ProxyRecord[]; total: number },
  query: Static<typeof listSchema>['query'],
): Static<typeof listSchema> {
  return { success: true, total, count: items.length, proxies: items.map(proxyView), query };
}
