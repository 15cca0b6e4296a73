import type { SecureContext } from 'node:tls';
import { isGloballyRoutable } from '../../lib/address.ts';
import { type CheckError, type CheckResult, type Dialled, formatUrl } from '../proxy.ts';
import { compareHeaders, showsUsualHeaders } from './compare.ts';
import type { Connection } from './connection.ts';
import type { Dialler, Held } from './dialler.ts';
import { type Echo, readEcho } from './echo.ts';
import { askThrough, pathWith } from './exchange.ts';
import { CheckFault, type FaultCode } from './fault.ts';
import { answerReader, type HttpAnswer } from './http.ts';
import type { Judge, Judges, Scheme } from './judges.ts';
import { createRelayProof } from './relay-proof.ts';
import type { Relays } from './relays.ts';
import type { Witnesses } from './witnesses.ts';

/** Judges of which each was down when a proxy failed, before nothing is said about the proxy. */
const MOST_JUDGES = 2;

/**
 * Of the proxies that fall silent while they wait for a judge so many hear another one, too: that shows a judge which drops
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
  /** Most bytes of a judge's answer. */
  maxBytes: number;
  randomToken: () => string;
  secrets: () => readonly string[];
  monotonic: () => number;
}

/** What a judge has said about a proxy. */
interface Passed {
  judge: Judge;
  /** Proven by no more than that. */
  result: Extract<CheckResult, { verdict: 'alive' }>;
}

/** A proxy failed, and that was neither the judge's nor our fault. */
interface Failed {
  judge: Judge;
  error: CheckError;
  /** Another judge may see it otherwise. */
  doubtful: boolean;
}

type Opinion = Passed | Failed;

type Times = ReturnType<Connection['times']>;

const UNKNOWN: CheckResult = { verdict: 'unknown', error: 'judge_down' };

/**
 * Finds out whether a proxy works and what proves it: over TLS a judge's page alone; without TLS the word of our own judge,
 * or any judge's page and a part of a witness's file. Rejects with a `CheckFault` where nothing can be said, and it is our fault.
 */
export function createInterrogation(
  options: InterrogationOptions,
): (endpoint: Dialled, signal?: AbortSignal) => Promise<CheckResult> {
  const { dialler, judges, relays, allowPrivate, secureContext, monotonic } = options;
  const prove = createRelayProof(options);

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

  function opinionOf(endpoint: Dialled, judge: Judge, echo: Echo | null, times: Times): Opinion {
    if (echo === null) return { judge, error: 'bad_answer', doubtful: true };
    if (isOwnExit(endpoint, echo)) return { judge, error: 'wrong_exit', doubtful: false };
    const { anonymity, tampering } = seen(judge, echo);
    const { connectMs, firstByteMs, totalMs } = times;
    const proof = judge.scheme === 'https' ? 'tls' : echo.proven ? 'signed' : 'echoed';
    const exitIp = echo.address;
    return {
      judge,
      result: { verdict: 'alive', connectMs, firstByteMs, totalMs, exitIp, anonymity, tampering, proof },
    };
  }

  /** The judge's page, or `null` where it is another one: a judge changes neither its form nor its proof because a proxy asks. */
  function readAnswer(
    { scheme, remote, sent }: Judge,
    answer: HttpAnswer,
    token: string | null,
  ): Echo | null {
    const direct = remote.said;
    const echo = answer.status === 200 ? readEcho(answer.body, token, options.secrets()) : null;
    if (echo === null || direct === null || echo.format !== direct.format) return null;
    // Nobody between can have changed what came over TLS.
    if (scheme === 'https') return echo;
    if (echo.proven !== direct.proven || echo.frame !== direct.frame) return null;
    if (echo.headers === null || direct.headers === null) return null;
    const arrived = { address: direct.address, headers: direct.headers };
    const proxied = { address: echo.address, chain: echo.chain, headers: echo.headers };
    return showsUsualHeaders({ sent, direct: arrived, proxied }) ? echo : null;
  }

  /** What the proxy did to the request; it cannot touch one that is made over TLS. */
  function seen({ scheme, remote, sent }: Judge, { address, chain, headers }: Echo) {
    const direct = remote.said;
    if (scheme === 'https' || !direct?.headers || !headers)
      return { anonymity: 'elite' as const, tampering: [] };
    const own = judges.ownAddresses();
    const arrived = { address: direct.address, headers: direct.headers };
    return compareHeaders({ sent, direct: arrived, proxied: { address, chain, headers }, own });
  }

  /** The judge saw us, not the proxy. That is right only for a proxy on our own machine or network. */
  function isOwnExit(endpoint: Dialled, { address }: Echo): boolean {
    if (!isGloballyRoutable(address)) return !allowPrivate;
    const own = judges.ownAddresses();
    return own.has(address) && isGloballyRoutable(endpoint.ip) && !own.has(endpoint.ip);
  }

  /** True when a failure is the proxy's: our network and, where the proxy was waiting for it, the judge have worked meanwhile. */
  function isProxysFault(judge: Judge, failed: FaultCode, committed: boolean, startedAt: number) {
    // What timed out in full would have been answered by a network that worked in the second half of the time.
    if (failed === 'timeout' && !committed) {
      return judges.confirmUplink(startedAt + (monotonic() - startedAt) / 2);
    }
    // Without a route or a socket to spare every proxy is unreachable, but the judges are, too.
    if (failed === 'unreachable') return judges.confirmUplink(startedAt);
    if (!committed || failed === 'auth_required') return true;
    const since = failed === 'timeout' ? startedAt + (monotonic() - startedAt) / 2 : monotonic();
    return judges.confirm(judge, since);
  }

  /** What a judge, on another host than `avoid`, says; `null` where none can say anything. */
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
        const opinion = opinionOf(endpoint, judge, readAnswer(judge, held.said, token), held.times);
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

  /** Hears another judge where the first has refused what may be a good proxy. */
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
    // A judge without TLS will do for SOCKS only where the operator has named no other.
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
