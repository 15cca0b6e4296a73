import type { Checker } from '../check/checker.ts';
import type { Discovery, DiscoveryOptions } from '../discovery/discovery.ts';
import type { Logins } from '../pool/logins.ts';
import type { ReadSource } from '../sources/read.ts';
import type { Source } from '../sources/source.ts';
import type { ProxyStore } from '../store.ts';
import type { JobError, RefreshJob } from './progress.ts';
import type { Recorder, WriteRight } from './recorder.ts';
import type { SourceBook } from './source-health.ts';

/** What the stages of a refresh need. */
export interface RoundOptions
  extends Pick<DiscoveryOptions, 'tryEntry' | 'budget' | 'pass' | 'clock' | 'log' | 'concurrency'> {
  store: Pick<ProxyStore, 'stream' | 'removeDead' | 'evict'>;
  recorder: Recorder;
  checker: Pick<Checker, 'check' | 'probe' | 'judges'>;
  readSource: ReadSource;
  sources: readonly Source[];
  /** 0 to 1. */
  random: () => number;
  discovery: Discovery;
  logins: Logins;
  /** Time between refreshes. */
  refreshIntervalMs: number;
  /** How long a refresh may start checks. */
  refreshBudgetMs: number;
  deadRetentionMs: number;
  maxPool: number;
}

/** A running refresh. */
export interface Round {
  job: RefreshJob;
  book: SourceBook;
  scope: Scope;
  right: WriteRight;
  signal: AbortSignal;
  /**
   * Why the refresh fails once known proxies are checked: no list could be read, or most of those that worked before
   * were unreachable. `null` if the lists are well.
   */
  fault: 'lists_failing' | 'network_down' | null;
}

/** What the caller wants a refresh to cover. */
export interface Scope {
  /** Includes paused lists, recently checked proxies and dead ones that are not due, if there is time. */
  all: boolean;
  /** Checks all of these, even if that is more than the budget allows. Default: false. */
  overdraws?: boolean;
}

/** Ends a refresh early. */
export class RefreshFault extends Error {
  readonly code: JobError;
  constructor(code: JobError) {
    super(code);
    this.code = code;
  }
}
