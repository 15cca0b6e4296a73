import { isGloballyRoutable } from '../../lib/address.ts';
import type { CheckError, CheckResult, Endpoint } from '../proxy.ts';
import { compareHeaders, showsUsualHeaders } from './compare.ts';
import type { Connection } from './connection.ts';
import { type Echo, readEcho } from './echo.ts';
import type { HttpAnswer } from './http.ts';
import type { Judge, Judges } from './judges.ts';

/** What a judge has said about a proxy. */
export interface Passed {
  judge: Judge;
  /** Proven by no more than that. */
  result: Extract<CheckResult, { verdict: 'alive' }>;
}

/** A proxy failed, and that was neither the judge's nor our fault. */
export interface Failed {
  judge: Judge;
  error: CheckError;
  /** Another judge may see it otherwise. */
  doubtful: boolean;
}

export type Opinion = Passed | Failed;

/** What a judge was asked through a proxy. */
export interface Asked {
  endpoint: Endpoint;
  judge: Judge;
  /** That the answer has to show; `null` over TLS. */
  token: string | null;
}

export interface OpinionOptions {
  judges: Pick<Judges, 'ownAddresses'>;
  allowPrivate: boolean;
  secrets: () => readonly string[];
}

/** Makes the function that reads what an answer, which came through a proxy, says about the proxy. */
export function createOpinions({
  judges,
  allowPrivate,
  secrets,
}: OpinionOptions): (asked: Asked, answer: HttpAnswer, times: ReturnType<Connection['times']>) => Opinion {
  /** The judge's page, or `null` if it is another one: a judge changes neither its form nor its proof because a proxy asks. */
  function readAnswer({ judge: { scheme, remote, sent }, token }: Asked, answer: HttpAnswer): Echo | null {
    const direct = remote.said;
    const echo = answer.status === 200 ? readEcho(answer.body, token, secrets()) : null;
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
