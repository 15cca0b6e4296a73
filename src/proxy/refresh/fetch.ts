import { breathe } from '../../lib/schedule.ts';
import { elapsedSince, plannedFor } from '../../lib/stored-time.ts';
import type { ProxyRecord } from '../proxy.ts';
import { isDue } from '../sources/health.ts';
import { hostOf, type Source, type SourceReport } from '../sources/source.ts';
import { MOST_WAIT_MS } from '../store.ts';
import { type Candidates, createCandidates, type Rank } from './candidates.ts';
import { inTurnsByHost } from './polite.ts';
import type { SourceProgress } from './progress.ts';
import { RefreshFault, type Round, type RoundOptions, type Scope } from './round.ts';
import type { SourceBook } from './source-health.ts';

/** An hourly refresh skips proxies that were checked this recently. */
const RECENT_MS = 60_000;

interface Reading {
  source: Source;
  progress: SourceProgress;
  report: SourceReport;
  fresh: number;
}

/**
 * Reads all lists that are not paused. Failures of single lists count against those lists. If most lists are
 * unreachable at once, that says nothing about any of them.
 * @throws {RefreshFault} `network_down` if no judge answers either.
 */
export async function fetchLists(options: RoundOptions, round: Round): Promise<Candidates> {
  const { store, recorder, readSource, sources, clock, random, log, pass, logins, checker } = options;
  const { job, book, scope, signal } = round;
  const candidates = createCandidates(pass, logins, options.maxPool);
  const now = clock.now();
  for await (const batch of store.stream({})) {
    for (const record of batch) candidates.addKnown(record, rankOf(record, now, scope));
    signal.throwIfAborted();
    await breathe();
  }
  const readings: Reading[] = [];
  /** Number of lists in a row, by host, that failed or broke off: each may have taken all of its time. */
  const silent = new Map<string, number>();
  const due = [...sources.entries()].filter(([index, { name }]) => {
    const progress = job.sources[index];
    if (!progress) return false;
    showHealth(progress, book);
    if (scope.all || isDue(book.get(name), now)) return true;
    progress.state = 'paused';
    progress.error = book.get(name).lastError;
    return false;
  });
  await inTurnsByHost(due, { hostOf: ([, source]) => hostOf(source), work: read, clock, random, signal });
  signal.throwIfAborted();
  for (const { login, ...endpoint } of candidates.changed()) {
    // Earlier results were obtained with another login.
    recorder
      .change(endpoint, (record) => ({ ...record, login, nextCheck: now }))
      .catch((error: unknown) => log('warn', 'login not saved', { error }));
  }
  let arePardoned = false;
  if (areMostAway(readings, book)) {
    if ((await checker.probe()).state !== 'up') throw new RefreshFault('network_down');
    arePardoned = wereMostWell(readings, book);
  }
  const isAnyRead = sources.length === 0 || readings.some(({ report }) => !isBad(report));
  round.fault = !isAnyRead ? 'lists_failing' : arePardoned ? 'network_down' : null;
  for (const { source, progress, report, fresh } of readings) {
    if (arePardoned && isAway(report)) continue;
    book.read(source.name, report, fresh, clock.now());
    showHealth(progress, book);
  }
  return candidates;

  async function read([index, source]: [number, Source]): Promise<void> {
    const progress = job.sources[index];
    if (!progress) return;
    progress.state = 'reading';
    const host = hostOf(source);
    const report = (silent.get(host) ?? 0) < MOST_SILENCES ? await ask(index, source, progress) : NOT_ASKED;
    const isWhole = report.error === null || report.reached !== false;
    silent.set(host, isWhole ? 0 : (silent.get(host) ?? 0) + 1);
    progress.state = isBad(report) ? 'failed' : 'done';
    progress.error = report.error;
    readings.push({ source, progress, report, fresh: progress.fresh });
    if (report.error === null) pass.listRead(index);
    else log('warn', 'list not read', { source: source.name, error: report.error });
  }

  function ask(index: number, source: Source, progress: SourceProgress): Promise<SourceReport> {
    return readSource(source, {
      signal,
      onCandidate(kind, ip, port, country, login) {
        progress.found++;
        job.fetched++;
        if (candidates.add(index, kind, ip, port, { country, login, isOwn: source.logins })) progress.fresh++;
      },
    });
  }
}

/** After this many failed lists in a row, the host's other lists are not requested. */
const MOST_SILENCES = 3;
const NOT_ASKED: SourceReport = {
  found: 0,
  rejected: 0,
  bytes: 0,
  error: 'not requested, because other lists of its host could not be read',
  reached: false,
};

const isBad = ({ found, error }: SourceReport) => error !== null && found === 0;
const isAway = (report: SourceReport) => isBad(report) && report.reached === false;

/** Fewer lists than this can well fail at the same time by chance. */
const ENOUGH_LISTS = 3;

const wasWell = ({ source }: Reading, book: SourceBook) =>
  !source.url.startsWith('file:') && book.get(source.name).failures === 0;

/** Reports whether most of the lists that did not fail last time are unreachable now. */
function areMostAway(readings: readonly Reading[], book: SourceBook): boolean {
  return isMost(readings.filter((one) => wasWell(one, book)));
}

/**
 * Reports the same for lists that were read before. If the network works, only these say more than something
 * about themselves.
 */
function wereMostWell(readings: readonly Reading[], book: SourceBook): boolean {
  const well = readings.filter((one) => wasWell(one, book) && book.get(one.source.name).lastRead !== null);
  return well.length >= ENOUGH_LISTS && isMost(well);
}

function isMost(readings: readonly Reading[]): boolean {
  return readings.filter(({ report }) => isAway(report)).length * 2 > readings.length;
}

function rankOf({ status, lastChecked, nextCheck }: ProxyRecord, now: number, { all }: Scope): Rank {
  // Proxies that are not due are left to rechecks, which know best when a check is worth its price.
  const isDue = plannedFor(nextCheck, now, MOST_WAIT_MS[status]) <= now;
  if (!all && (elapsedSince(lastChecked, now) < RECENT_MS || !isDue)) return 'none';
  if (status === 'alive') return 'good';
  if (isDue) return 'due';
  return all ? 'dead' : 'none';
}

export function showHealth(progress: SourceProgress, book: SourceBook): void {
  const { yield: share, skipUntil } = book.get(progress.name);
  progress.yield = share;
  progress.pausedUntil = skipUntil === 0 ? null : skipUntil;
}
