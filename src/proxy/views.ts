import type { Static, TSchema } from '@sinclair/typebox';
import { formatMinute, formatTimestamp } from '../lib/clock.ts';
import type { TestOutcome } from './check/single-check.ts';
import { PROOFS, type Proof, type ProxyFilter, type ProxyRecord } from './proxy.ts';
import type { RefreshJob, SourceProgress } from './refresh/progress.ts';
import {
  type FilterQuery,
  type jobSchema,
  type ListQuery,
  listQuery,
  type listSchema,
  type proxySchema,
  type quickTestSchema,
  type sourceProgressSchema,
  type sourceSchema,
  type statusSchema,
} from './schemas.ts';
import type { PoolStatus, SourceStatus } from './service.ts';

const timeOrNull = (ms: number | null) => (ms === null ? null : formatTimestamp(ms));

/** A record as the public interface shows it. */
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
    uptime: Math.round(record.uptime * 1000) / 1000,
    checks: record.checks,
    successes: record.successes,
    first_seen: formatTimestamp(record.firstSeen),
    last_alive: timeOrNull(record.lastAlive),
    error: record.error,
  };
}

/** A refresh as the public interface shows it. */
export function jobView({
  startedAt,
  finishedAt,
  updatedAt: _,
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

const roundShare = (share: number | null) => (share === null ? null : Math.round(share * 10_000) / 10_000);

/** How a list fares in a refresh. */
export function sourceProgressView({
  pausedUntil = null,
  yield: share = null,
  ...progress
}: SourceProgress): Static<typeof sourceProgressSchema> {
  return { ...progress, yield: roundShare(share), paused_until: timeOrNull(pausedUntil) };
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
    yield: roundShare(health.yield),
    failures,
    last_read: timeOrNull(lastRead),
    last_error: lastError,
    paused_until: skipUntil === 0 ? null : formatTimestamp(skipUntil),
  };
}

export function statusView({ lastRefresh, refresh, judges }: PoolStatus): Static<typeof statusSchema> {
  return {
    status: 'running',
    last_refresh: lastRefresh === null ? '' : formatMinute(lastRefresh),
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

/** A page of the list; `query`: the echo of what was asked. */
export function listView(
  { items, total }: { items: readonly ProxyRecord[]; total: number },
  query: Static<typeof listSchema>['query'],
): Static<typeof listSchema> {
  return { success: true, total, count: items.length, proxies: items.map(proxyView), query };
}

/** The kinds of proof that are asked for: one, or one and the stronger ones. */
function proofsOf({ proof, min_proof }: Pick<FilterQuery, 'proof' | 'min_proof'>): readonly Proof[] {
  const strong = PROOFS.slice(0, min_proof === undefined ? PROOFS.length : PROOFS.indexOf(min_proof) + 1);
  return proof === undefined ? strong : strong.filter((one) => one === proof);
}

/** The filter that the query means; ages are counted back from `now`. */
export function toFilter(query: FilterQuery & Pick<ListQuery, 'status'>, now: number): ProxyFilter {
  const { protocol, country, exclude_country, status, anonymity, source } = query;
  const filter: ProxyFilter = { status: status ?? 'alive' };
  if (protocol !== undefined) filter.protocol = protocol;
  if (country !== undefined) filter.country = country.toUpperCase();
  if (exclude_country !== undefined) filter.excludeCountry = exclude_country.toUpperCase();
  if (anonymity !== undefined) filter.anonymity = anonymity;
  if (query.proof !== undefined || query.min_proof !== undefined) filter.proofs = proofsOf(query);
  if (source !== undefined) filter.source = source;
  if (query.max_latency_ms !== undefined) filter.maxResponseMs = query.max_latency_ms;
  if (query.max_age !== undefined) filter.checkedSince = now - query.max_age * 1000;
  if (query.min_uptime !== undefined) filter.minUptime = query.min_uptime;
  return filter;
}

/** The echo of a list query: filters as they took effect. What was not given is left out, but for the four of the interface. */
export function queryView(
  { format: _, ...query }: ListQuery,
  filter: ProxyFilter,
  limit: number,
): Static<typeof listSchema>['query'] {
  const defaults: Record<string, TSchema> = listQuery.properties;
  const given = Object.entries(query).filter(
    ([name, value]) => name in defaults && value !== defaults[name]?.default,
  );
  return {
    ...Object.fromEntries(given),
    ...(filter.excludeCountry && { exclude_country: filter.excludeCountry }),
    protocol: filter.protocol ?? null,
    country: filter.country ?? null,
    status: filter.status ?? 'alive',
    limit,
  };
}
