import type { Clock } from '../../lib/clock.ts';
import { forEachBounded } from '../../lib/for-each-bounded.ts';
import type { Log } from '../../lib/logger.ts';
import { breathe } from '../../lib/schedule.ts';
import type { Checker } from '../check/checker.ts';
import type { ProxyRecord } from '../proxy.ts';
import type { RecheckBudget } from '../recheck/budget.ts';
import { isDue } from '../sources/health.ts';
import type { ReadSource } from '../sources/read.ts';
import type { Source } from '../sources/source.ts';
import type { ProxyStore } from '../store.ts';
import { type Candidates, createCandidates, type Rank, type Turn } from './candidates.ts';
import type { JobError, RefreshJob, SourceProgress } from './progress.ts';
import type { Recorder } from './recorder.ts';
import type { SourceBook } from './source-health.ts';

export interface RoundOptions {
  store: Pick<ProxyStore, 'stream' | 'removeDead' | 'evict'>;
  recorder: Recorder;
  checker: Pick<Checker, 'check' | 'probe' | 'judges'>;
  readSource: ReadSource;
  sources: readonly Source[];
  clock: Clock;
  log: Log;
  budget: RecheckBudget;
  /** How long a refresh may start checks. */
  budgetMs: number;
  /** Checks at once. */
  concurrency: number;
  deadRetentionMs: number;
  maxPool: number;
}

/** What ends a refresh before its time. */
export class RefreshFault extends Error {
  readonly code: JobError;
  constructor(code: JobError) {
    super(code);
    this.code = code;
  }
}

const SOURCES_AT_ONCE = 8;
/** What was checked this recently is not checked again by an hourly refresh. */
const RECENT_MS = 60_000;
/** Outcomes that may wait for the store before checking waits, too. */
const MOST_WAITING = 5_000;

/** Which known proxies a refresh checks. */
export interface Scope {
  /** Everything, as far as the time goes: recently checked ones and dead ones that are not due, too. */
  all: boolean;
}

/** Reads all lists that are not paused. A list that fails does so alone. */
export async function fetchLists(
  { store, readSource, sources, clock, log }: RoundOptions,
  job: RefreshJob,
  book: SourceBook,
  scope: Scope,
  signal: AbortSignal,
): Promise<Candidates> {
  const candidates = createCandidates(sources.length);
  const now = clock.now();
  for await (const batch of store.stream({})) {
    for (const record of batch) candidates.addKnown(record, rankOf(record, now, scope));
    signal.throwIfAborted();
    await breathe();
  }
  await forEachBounded(sources.entries(), SOURCES_AT_ONCE, ([index, source]) => read(index, source), signal);
  signal.throwIfAborted();
  job.candidates = candidates.size;
  return candidates;

  async function read(index: number, source: Source): Promise<void> {
    const progress = job.sources[index];
    if (!progress) return;
    showHealth(progress, book);
    if (!isDue(book.get(source.name), clock.now())) {
      progress.state = 'paused';
      progress.error = book.get(source.name).lastError;
      return;
    }
    progress.state = 'reading';
    const report = await readSource(source, {
      signal,
      onCandidate(protocol, ip, port, country) {
        progress.found++;
        job.fetched++;
        if (candidates.add(index, protocol, ip, port, country)) progress.fresh++;
      },
    });
    progress.state = report.error !== null && report.found === 0 ? 'failed' : 'done';
    progress.error = report.error;
    book.read(source.name, report, progress.fresh, clock.now());
    showHealth(progress, book);
    if (report.error !== null) log('warn', 'list not read', { source: source.name, error: report.error });
  }
}

function rankOf({ status, lastChecked, nextCheck }: ProxyRecord, now: number, { all }: Scope): Rank {
  if (!all && lastChecked > now - RECENT_MS) return 'none';
  if (status === 'alive') return 'good';
  if (nextCheck <= now) return 'due';
  return all ? 'dead' : 'none';
}

/**
 * Checks the candidates until the budget is spent. Outcomes are saved all along.
 * @throws {RefreshFault} `judge_down` as soon as no judge answers: what was checked before it counts.
 */
export async function verify(
  { recorder, checker, sources, clock, budget, budgetMs, concurrency }: RoundOptions,
  job: RefreshJob,
  book: SourceBook,
  candidates: Candidates,
  scope: Scope,
  signal: AbortSignal,
): Promise<void> {
  const deadline = clock.now() + budgetMs;
  job.judge = (await checker.probe()).state;
  let started = 0;

  function* affordable(): Generator<Turn> {
    for (const turn of candidates.turns((index) => book.yieldOf(sources[index]?.name ?? ''))) {
      if (job.judge === 'down' || clock.now() >= deadline) return;
      if (turn.rank !== 'new') {
        // Of the hourly refresh the re-check loop takes the rest, at its own budget.
        if (turn.rank === 'due' && !scope.all && budget.allowance() < 1) return;
        budget.spend(1);
      }
      started++;
      yield turn;
    }
  }

  async function check({ endpoint, source, country }: Turn): Promise<void> {
    const result = await checker.check(endpoint, signal);
    if (result.verdict === 'unknown') {
      job.judge = checker.judges().state;
      return;
    }
    const progress = job.sources[source];
    job.checked++;
    if (progress) progress.checked++;
    if (result.verdict === 'alive') {
      job.alive++;
      if (progress) progress.alive++;
    }
    const saved = recorder.add({ endpoint, source: progress?.name ?? '', country, result });
    if (recorder.waiting() > MOST_WAITING) await saved;
    else saved.catch((error: unknown) => failures.push(error));
  }

  const failures: unknown[] = [];
  try {
    if (job.judge !== 'down') await forEachBounded(affordable(), concurrency, check, signal);
  } finally {
    job.skipped = candidates.size - started;
    await recorder.flush();
  }
  signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
  if (job.judge === 'down') throw new RefreshFault('judge_down');
  for (const progress of job.sources) {
    const { name, checked, alive } = progress;
    if (checked === 0) continue;
    book.checked(name, { checked, alive }, clock.now());
    showHealth(progress, book);
  }
}

function showHealth(progress: SourceProgress, book: SourceBook): void {
  const { yield: share, skipUntil } = book.get(progress.name);
  progress.yield = share;
  progress.pausedUntil = skipUntil === 0 ? null : skipUntil;
}

/** Removes what has been dead for too long and what the pool has no room for. */
export async function cleanUp(
  { store, clock, deadRetentionMs, maxPool }: RoundOptions,
  job: RefreshJob,
): Promise<void> {
  job.removed = await store.removeDead(clock.now() - deadRetentionMs);
  job.removed += await store.evict(maxPool);
}
