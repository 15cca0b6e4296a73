import type { CheckBudget } from '../check/check-budget.ts';
import type { Checker } from '../check/checker.ts';
import type { JudgesState, Scheme } from '../check/judges.ts';
import type { Logins } from '../pool/logins.ts';
import type { CheckResult, Endpoint, Protocol } from '../proxy.ts';
import type { Recorder, WriteRight } from '../refresh/recorder.ts';
import type { Source } from '../sources/source.ts';
import type { Crowd, Kind } from './key.ts';
import type { Pass } from './pass.ts';
import type { Turn } from './queue.ts';
import { NO_SOURCE } from './rows.ts';

interface Trial {
  alive: boolean;
  /** Resolves when the outcome is saved. Rejects with the store's error. */
  saved: Promise<unknown>;
}

interface TrialsOptions {
  checker: Pick<Checker, 'check' | 'judges'>;
  recorder: Pick<Recorder, 'add'>;
  budget: CheckBudget;
  logins: Pick<Logins, 'of'>;
  sources: readonly Source[];
}

/** What trials need to know about the refresh. */
export interface TrialsContext {
  pass: Pick<Pass, 'begin' | 'end'>;
  /**
   * True if more entries are listed than the pool can hold. Entries that fail at once are then not stored,
   * but tried again in the next pass.
   */
  isCrowded: boolean;
  isKnown: (endpoint: Endpoint) => boolean;
  crowd: Pick<Crowd, 'add'>;
  /** The refresh's right to write. What it leaves is written with it as well, until another refresh has begun. */
  right: WriteRight;
}

/** Tries entries of lists. The promise is `null` if no judge could decide; the entry then stays due. */
export type Try = (turn: Turn, context: TrialsContext, signal: AbortSignal) => Promise<Trial | null>;

/** Tried in this order until one works. Anything but a silent HTTP proxy is also tried with CONNECT. */
const ANY: readonly Protocol[] = ['http', 'https', 'socks5', 'socks4'];

/**
 * Returns the protocols that an entry may speak: an HTTP proxy may forward, tunnel, or both. Those that no configured judge
 * can decide are left out, because the others would wait for them for ever.
 */
export function protocolsOf(kind: Kind, { schemes }: Pick<JudgesState, 'schemes'>): readonly Protocol[] {
  const all = kind === 'any' ? ANY : kind === 'http' ? ANY.slice(0, 2) : [kind];
  const decidable = all.filter((protocol) => schemes[protocol as Scheme] !== 'none');
  return decidable.length > 0 ? decidable : all;
}

/** Failures of a port that listens and answers. It may speak another protocol. */
const HEARD: readonly string[] = ['protocol_error', 'bad_answer', 'wrong_exit'];

export function createTrials({ checker, recorder, budget, logins, sources }: TrialsOptions): Try {
  function outcomeOf(turn: Turn, protocol: Protocol, result: CheckResult, isCrowded: boolean) {
    const { ip, port, country } = turn;
    const source = turn.source === NO_SOURCE ? '' : (sources[turn.source]?.name ?? '');
    const login = logins.of({ ip, port });
    // A guessed protocol is not remembered as dead; an operator's own proxy is kept.
    const isGuess = protocol !== turn.kind || turn.source === NO_SOURCE;
    const forgettable = isGuess || (isCrowded && login === null);
    return { endpoint: { protocol, ip, port, login }, source, country, result, forgettable };
  }

  return async (turn, { pass, isCrowded, isKnown, crowd, right }, signal) => {
    const { key, kind, ip, port } = turn;
    const saved: Promise<unknown>[] = [];
    const works = new Set<Protocol>();
    const protocols = protocolsOf(kind, checker.judges());
    let forgotten = false;
    let answered = protocols[0] !== 'http';
    pass.begin(key);
    for (const protocol of protocols) {
      const isGuess = protocol !== kind;
      if (kind === 'any' && protocol !== 'https' && works.size > 0) continue;
      if (kind === 'http' && isGuess && (!answered || isKnown({ protocol, ip, port }))) continue;
      // Before the check, so that all that run at once do not exceed what is left.
      budget.discovery.spend(1);
      const result = await checker.check({ protocol, ip, port, login: logins.of({ ip, port }) }, signal);
      if (result.verdict === 'unknown') {
        budget.discovery.spend(-1);
        if (works.size > 0) break;
        pass.end(key, 'open');
        return null;
      }
      const outcome = outcomeOf(turn, protocol, result, isCrowded);
      answered ||= result.verdict === 'alive' || HEARD.includes(result.error);
      if (result.verdict === 'alive') {
        works.add(protocol);
        crowd.add(key);
      } else if (outcome.forgettable) forgotten = true;
      saved.push(recorder.add({ ...outcome, right }));
      if (result.verdict === 'dead' && ['unreachable', 'refused_address'].includes(result.error)) break;
    }
    const outcome = works.size === 0 && forgotten ? 'forgotten' : 'kept';
    const allSaved = Promise.all(saved);
    void allSaved.then(
      // What was checked under a lost lease was not saved.
      () => pass.end(key, right.lost.aborted ? 'open' : outcome),
      () => pass.end(key, 'open'),
    );
    return { alive: works.size > 0, saved: allSaved };
  };
}
