import { isGloballyRoutable } from '../../lib/address.ts';
import type { CheckError, CheckResult, Endpoint } from '../proxy.ts';
import { compareHeaders, showsUsualHeaders } from './compare.ts';
import type { Connection } from './connection.ts';
import { type Echo, readEcho } from './echo.ts';
import type { HttpAnswer } from './http.ts';
import type { Judge, Judges } from './judges.ts';

/** A judge's opinion of a proxy that works. */
interface Passed {
  judge: Judge;
  /** Without proof beyond this answer. */
  result: Extract<CheckResult, { verdict: 'alive' }>;
}

/** A proxy failed, and neither the judge nor we are to blame. */
export interface Failed {
  judge: Judge;
  error: CheckError;
  /** True if another judge may disagree. */
  doubtful: boolean;
}

export type Opinion = Passed | Failed;

/** A question to a judge through a proxy. */
interface Asked {
  endpoint: Endpoint;
  judge: Judge;
  /** The token that the answer has to contain; `null` over TLS. */
  token: string | null;
}

interface OpinionOptions {
  judges: Pick<Judges, 'ownAddresses'>;
  allowPrivate: boolean;
  secrets: () => readonly string[];
}

/** Creates the function that judges a proxy by an answer that came through it. */
export function createOpinions({
  judges,
  allowPrivate,
  secrets,
}: OpinionOptions): (asked: Asked, answer: HttpAnswer, times: ReturnType<Connection['times']>) => Opinion {
  /**
   * Returns the judge's page, or `null` if it is a different page: a judge changes neither format nor proof
   * because a proxy asks.
   */
  function readAnswer({ judge: { scheme, remote, sent }, token }: Asked, answer: HttpAnswer): Echo | null {
    const direct = remote.said;
    const echo = answer.status === 200 ? readEcho(answer.body, token, secrets()) : null;
    if (echo === null || direct === null || echo.format !== direct.format) return null;
    // Nobody on the way can change an answer over TLS.
    if (scheme === 'https') return echo;
    if (echo.proven !== direct.proven || echo.frame !== direct.frame) return null;
    if (echo.headers === null || direct.headers === null) return null;
    const arrived = { address: direct.address, headers: direct.headers };
    const proxied = { address: echo.address, chain: echo.chain, headers: echo.headers };
    return showsUsualHeaders({ sent, direct: arrived, proxied }) ? echo : null;
  }

  /** Returns what the proxy did to the request. It cannot touch a request over TLS. */
  function seen({ scheme, remote, sent }: Judge, { address, chain, headers }: Echo) {
    const direct = remote.said;
    if (scheme === 'https' || !direct?.headers || !headers)
      return { anonymity: 'elite' as const, tampering: [] };
    const own = judges.ownAddresses();
    const arrived = { address: direct.address, headers: direct.headers };
    return compareHeaders({ sent, direct: arrived, proxied: { address, chain, headers }, own });
  }

  /**
   * Reports whether the judge saw us instead of the proxy. That is right only for a proxy on our own machine
   * or network.
   */
  function isOwnExit(endpoint: Endpoint, { address }: Echo): boolean {
    if (!isGloballyRoutable(address)) return !allowPrivate;
    const own = judges.ownAddresses();
    return own.has(address) && isGloballyRoutable(endpoint.ip) && !own.has(endpoint.ip);
  }

  return (asked, answer, { connectMs, firstByteMs, totalMs }) => {
    const { endpoint, judge } = asked;
    const echo = readAnswer(asked, answer);
    if (echo === null) return { judge, error: 'bad_answer', doubtful: true };
    if (isOwnExit(endpoint, echo)) return { judge, error: 'wrong_exit', doubtful: false };
    const { anonymity, tampering } = seen(judge, echo);
    const proof = judge.scheme === 'https' ? 'tls' : echo.proven ? 'signed' : 'echoed';
    const exitIp = echo.address;
    return {
      judge,
      result: { verdict: 'alive', connectMs, firstByteMs, totalMs, exitIp, anonymity, tampering, proof },
    };
  };
}
