import type { SecureContext } from 'node:tls';
import { type CheckResult, type Dialled, formatUrl } from '../proxy.ts';
import type { Dialler, Held } from './dialler.ts';
import { askThrough, pathWith } from './exchange.ts';
import { CheckFault, type FaultCode } from './fault.ts';
import { answerReader, type HttpAnswer } from './http.ts';
import type { Judge, Judges, Scheme } from './judges.ts';
import { createOpinions, type Failed, type Opinion } from './opinion.ts';
import { createRelayProof } from './relay-proof.ts';
import type { Relays } from './relays.ts';
import type { Witnesses } from './witnesses.ts';

/** Judges of which each was down when a proxy failed, before nothing is said about the proxy. */
const MOST_JUDGES = 2;

/**
 * Of the proxies that fall silent while they wait for a judge so many hear another one as well: that shows a judge which drops
 * what comes from proxies, without another wait for each dead one.
 */
const SECOND_OPINIONS = 1 / 16;

export interface InterrogationOptions {
  dialler: Pick<Dialler, 'holdWith'>;
  judges: Judges;
  witnesses: Witnesses;
  relays: Relays;
  allowPrivate: boolean;
  secureContext: () => SecureContext;
  /** Maximum size in bytes of a judge's answer. */
  maxBytes: number;
  randomToken: () => string;
  secrets: () => readonly string[];
  monotonic: () => number;
}

const UNKNOWN: CheckResult = { verdict: 'unknown', error: 'judge_down' };

/**
 * Finds out whether a proxy works and what proves it: over TLS a judge's page alone; without TLS the word of our own judge,
 * or any judge's page and a part of a witness's file. Rejects with a `CheckFault` if nothing can be said, and it is our fault.
 */
export function createInterrogation(
  options: InterrogationOptions,
): (endpoint: Dialled, signal?: AbortSignal) => Promise<CheckResult> {
  const { dialler, judges, relays, secureContext, monotonic } = options;
  const prove = createRelayProof(options);
  const opinionOf = createOpinions(options);

  function ask(
    endpoint: Dialled,
    { remote: { target } }: Judge,
    token: string | null,
    signal: AbortSignal | undefined,
  ): Promise<Held<HttpAnswer>> {
    const request = {
      target,
      path: pathWith(target, token ?? ''),
      hear: answerReader(options.maxBytes),
      secureContext,
    };
    return dialler.holdWith(endpoint, askThrough(endpoint, request), signal);
  }

  /** True when a failure is the proxy's: our network and, where the proxy was waiting for it, the judge have worked meanwhile. */
  function isProxysFault(judge: Judge, failed: FaultCode, committed: boolean, startedAt: number) {
    // What timed out in full would have been answered by a network that worked in the second half of the time.
    if (failed === 'timeout' && !committed) {
      return judges.confirmUplink(startedAt + (monotonic() - startedAt) / 2);
    }
    // Without a route or a socket to spare every proxy is unreachable, but the judges are as well.
    if (failed === 'unreachable') return judges.confirmUplink(startedAt);
    if (!committed || failed === 'auth_required') return true;
    const since = failed === 'timeout' ? startedAt + (monotonic() - startedAt) / 2 : monotonic();
    return judges.confirm(judge, since);
  }

  /** What a judge, on another host than `avoid`, says; `null` if none can say anything. */
  async function hear(
    endpoint: Dialled,
    scheme: Scheme,
    signal: AbortSignal | undefined,
    avoid?: string,
  ): Promise<Opinion | null> {
    // A second judge is tried only where the first turned out to be down.
    for (let n = 0; n < MOST_JUDGES; n++) {
      const judge = judges.next(scheme, avoid) ?? (await judges.find(scheme, avoid));
      if (judge === null || signal?.aborted) return null;
      const token = scheme === 'https' ? null : options.randomToken();
      const startedAt = monotonic();
      const held = await ask(endpoint, judge, token, signal);
      if ('said' in held) {
        const opinion = opinionOf({ endpoint, judge, token }, held.said, held.times);
        if ('result' in opinion) judges.accepted(judge, startedAt);
        return opinion;
      }
      const { failed, committed } = held;
      if (failed === 'aborted' || failed === 'exhausted') throw new CheckFault(failed, 'nothing can be said');
      if (await isProxysFault(judge, failed, committed, startedAt)) {
        return { judge, error: failed, doubtful: committed && Math.random() < SECOND_OPINIONS };
      }
    }
    return null;
  }

  /** Hears another judge if the first has refused what may be a good proxy. */
  async function hearAnother(
    endpoint: Dialled,
    scheme: Scheme,
    first: Failed,
    signal: AbortSignal | undefined,
  ): Promise<Opinion | null> {
    const second = await hear(endpoint, scheme, signal, first.judge.host);
    if (second === null) {
      // There is no other: its word counts where it has one for us.
      return (await judges.confirm(first.judge, monotonic())) ? first : null;
    }
    if ('result' in second) first.judge.remote.standing.overruled();
    return second;
  }

  return async (endpoint, signal) => {
    // A judge without TLS will do for SOCKS only if the operator has named no other.
    const tunnels = endpoint.protocol !== 'http';
    const scheme = endpoint.protocol === 'https' || (tunnels && judges.has('https')) ? 'https' : 'http';
    const key = formatUrl(endpoint);
    let opinion = await hear(endpoint, scheme, signal);
    if (opinion !== null && 'error' in opinion && opinion.doubtful)
      opinion = await hearAnother(endpoint, scheme, opinion, signal);
    if (opinion === null) return UNKNOWN;
    if (!('result' in opinion)) {
      relays.forget(key);
      return { verdict: 'dead', error: opinion.error };
    }
    const { result } = opinion;
    if (result.proof !== 'echoed') return result;
    if (relays.has(key)) return { ...result, proof: 'relayed' };
    const proof = await prove(endpoint, signal);
    if (proof === 'relayed') relays.add(key);
    else if (proof !== 'echoed') return { verdict: 'dead', error: proof };
    return { ...result, proof };
  };
}
