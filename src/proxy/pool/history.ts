import {
  type CheckResult,
  countryBy,
  type Dialled,
  type ProxyRecord,
  type Status,
  UNKNOWN_COUNTRY,
  UPTIME,
} from '../proxy.ts';
import type { ProxyDraft } from '../store.ts';

/** An observation loses half its weight in 17 h and 63 % in this time. */
const MEMORY_MS = UPTIME.memoryMs;
/** Longest time between two checks that counts as watched. Anything beyond fades and adds nothing. */
const LONGEST_WATCH_MS = 2 * 3_600_000;
/** A checked proxy, with what was known about it before. */
export interface Checked {
  endpoint: Dialled;
  /** `null` at the first check. */
  record: ProxyRecord | null;
  /** The list that named it; used for new proxies. */
  source: string;
  /** The country that the list gives, used if nothing better is known. */
  country?: string | null;
}

/**
 * Returns the record after one more check that ended at `now`, or `null` if the check said nothing (`unknown`).
 *
 * `uptime` estimates the share of time alive. With T the time watched and U the time watched alive, both fading by e
 * in 24 h, it is (U + 13 % * 15 min) / (T + 15 min): a newcomer starts low and earns its rank within hours, and one
 * failure does not undo a long history. Between two checks with the same result the proxy counts as having been in
 * that state all along, otherwise half the time in each. At most two hours between checks count. T is stored as
 * `uptimeWeight` = T / 24 h, so two numbers hold the whole history.
 *
 * `nextCheck` is left at `now`: the scheduler sets it.
 */
export function observe(
  { endpoint, record, source, country }: Checked,
  result: CheckResult,
  now: number,
  countryOf: (address: string) => string,
): ProxyDraft | null {
  if (result.verdict === 'unknown') return null;
  const passed = result.verdict === 'alive';
  const status: Status = passed ? 'alive' : 'dead';
  const exitIp = passed ? result.exitIp : (record?.exitIp ?? null);
  const proof = passed ? result.proof : (record?.proof ?? null);
  const sameRun = record !== null && record.status === status;
  return {
    protocol: endpoint.protocol,
    ip: endpoint.ip,
    port: endpoint.port,
    country: firstKnown(countryBy(countryOf, { ip: endpoint.ip, exitIp, proof }), record?.country, country),
    source: record?.source ?? source,
    status,
    responseMs: passed ? Math.max(1, Math.round(result.totalMs)) : (record?.responseMs ?? null),
    anonymity: passed ? result.anonymity : (record?.anonymity ?? null),
    exitIp,
    error: passed ? null : result.error,
    // A clock that was ahead may have written these.
    firstSeen: Math.min(record?.firstSeen ?? now, now),
    lastChecked: now,
    lastAlive: passed ? now : record?.lastAlive == null ? null : Math.min(record.lastAlive, now),
    nextCheck: now,
    checks: (record?.checks ?? 0) + 1,
    successes: (record?.successes ?? 0) + (passed ? 1 : 0),
    run: (sameRun ? record.run : 0) + (passed ? 1 : -1),
    runSince: sameRun ? Math.min(record.runSince, now) : now,
    ...uptimeAfter(record, passed, now),
    proof,
    tampering: passed ? result.tampering.join(' ') : (record?.tampering ?? null),
    reports: record?.reports ? JSON.stringify(reportsOf(record, now)) : null,
    // The login of a known proxy changes with its list, not with a check, which may have begun before.
    login: record ? record.login : (endpoint.login ?? null),
    recent: withCheck(record?.recent ?? NO_CHECKS, passed),
  };
}

/** The value of `recent` before the first check. */
const NO_CHECKS = 1;
/** From here on there are 30 results behind the leading 1, the maximum for a positive 32-bit number. */
const FULL = 2 ** 30;

function withCheck(recent: number, passed: boolean): number {
  const next = recent * 2 + Number(passed);
  return recent < FULL ? next : (next % FULL) + FULL;
}

/** Returns up to 30 latest checks, oldest first: `1` passed, `0` failed. */
export function recentChecks(recent: number): string {
  return recent.toString(2).slice(1);
}

function uptimeAfter(
  record: ProxyRecord | null,
  passed: boolean,
  now: number,
): { uptime: number; uptimeWeight: number } {
  if (!record) return { uptime: UPTIME.priorShare, uptimeWeight: 0 };
  const elapsedMs = Math.max(0, now - record.lastChecked);
  const watchedMs = Math.min(elapsedMs, LONGEST_WATCH_MS);
  const fading = Math.exp(-elapsedMs / MEMORY_MS);
  const fresh = 1 - Math.exp(-watchedMs / MEMORY_MS);
  const aliveShare = ((record.status === 'alive' ? 1 : 0) + (passed ? 1 : 0)) / 2;
  const weight = record.uptimeWeight * fading + fresh;
  const alive = watchedAlive(record) * fading + fresh * aliveShare;
  const prior = UPTIME.priorWeight;
  return {
    uptime: clamp((alive + prior * UPTIME.priorShare) / (weight + prior)),
    uptimeWeight: clamp(weight),
  };
}

/** Returns the known share of time alive over about 24 h, or `null` until enough is known. */
export function uptimeOf(record: Pick<ProxyRecord, 'uptime' | 'uptimeWeight'>): number | null {
  return record.uptimeWeight < UPTIME.enoughWeight ? null : clamp(watchedAlive(record) / record.uptimeWeight);
}

/** Returns the time watched alive as a share of 24 h: `uptime` without the prior. */
function watchedAlive({ uptime, uptimeWeight }: Pick<ProxyRecord, 'uptime' | 'uptimeWeight'>): number {
  const prior = UPTIME.priorWeight;
  return Math.max(0, uptime * (uptimeWeight + prior) - prior * UPTIME.priorShare);
}

function firstKnown(...countries: (string | null | undefined)[]): string {
  return countries.find((country) => country && country !== UNKNOWN_COUNTRY) ?? UNKNOWN_COUNTRY;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

/** A user's report about a proxy. */
interface Report {
  /** Ms since 1970. */
  at: number;
  ok: boolean;
  /** Host that the user wanted to reach, if given. */
  target: string | null;
  error: string | null;
}

/** Maximum number of reports kept for a proxy. */
const MOST = 20;
const LONGEST_ERROR = 200;

/** Returns the reports of a record, oldest first, none of them later than `now`: a clock that was ahead may have written some. */
export function reportsOf({ reports }: { reports: string | null }, now = Number.POSITIVE_INFINITY): Report[] {
  const all = reports === null ? [] : (JSON.parse(reports) as Report[]);
  return all.map((report) => ({ ...report, at: Math.min(report.at, now) }));
}

/** Failures that forge nothing. The gateway reports many, and witnesses are other people's servers. */
const NOTHING_FORGED = new Set<string | null>([
  ...['unreachable', 'closed', 'cut', 'timeout', 'auth_required', 'server_error'],
]);

/** Reports whether a proxy, which may have been honest when it was proven, was reported since for what it forges. */
export const isDoubted = (record: Pick<ProxyRecord, 'reports' | 'lastChecked'>): boolean =>
  reportsOf(record).some(({ ok, at, error }) => !ok && at > record.lastChecked && !NOTHING_FORGED.has(error));

/** Returns the field of a record with one more report. */
export function withReport(record: { reports: string | null }, report: Report): string {
  const error = report.error?.slice(0, LONGEST_ERROR) ?? null;
  return JSON.stringify([...reportsOf(record), { ...report, error }].slice(-MOST));
}
