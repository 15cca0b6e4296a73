import { isGloballyRoutable } from '../../lib/address.ts';
import type { Anonymity, CheckError, CheckResult, Endpoint } from '../proxy.ts';
import type { Connection } from './connection.ts';
import { type Echo, readAddress, readEcho } from './echo.ts';
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
    const compared = comparisonOf(sent, direct, echo);
    return compared && showsUsualHeaders(compared) ? echo : null;
  }

  /** Returns what the proxy did to the request. It cannot touch a request over TLS. */
  function seen({ scheme, remote, sent }: Judge, echo: Echo) {
    const compared = scheme === 'https' ? null : comparisonOf(sent, remote.said, echo);
    if (compared === null) return { anonymity: 'elite' as const, tampering: [] };
    return compareHeaders({ ...compared, own: judges.ownAddresses() });
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
    if (isOwnExit(endpoint, echo)) return { judge, error: 'wrong_exit', doubtful: true };
    const { anonymity, tampering } = seen(judge, echo);
    const proof = judge.scheme === 'https' ? 'tls' : echo.proven ? 'signed' : 'echoed';
    const exitIp = echo.address;
    return {
      judge,
      result: { verdict: 'alive', connectMs, firstByteMs, totalMs, exitIp, anonymity, tampering, proof },
    };
  };
}

/** Headers with which proxies announce themselves or their client. */
const PROXY_HEADER =
  /^(via|forwarded|forwarded-for|x-forwarded(-.*)?|x-real-ip|client-ip|x-client-ip|true-client-ip|x-cluster-client-ip|x-originating-ip|x-remote-(ip|addr)|proxy-.*|x-proxy-.*|x-proxyuser-ip|x-via|x-bluecoat-via|max-forwards|xroxy-connection|x-imforwards|x-cache.*)$/;

/** Headers that apply to a single hop. Every proxy may change them, and most have to (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'te']);

/** A request as it reached a judge. */
interface Arrived {
  address: string;
  headers: Readonly<Record<string, string>>;
}

interface Comparison {
  /** Headers that the check sent, names in lower case. */
  sent: Readonly<Record<string, string>>;
  /** The same judge's answer without a proxy. */
  direct: Arrived;
  /** The judge's answer through the proxy. */
  proxied: Arrived & { chain: string };
  /** Our own addresses, in canonical form. */
  own: ReadonlySet<string>;
}

/** Returns what two answers of a judge show of the request; `null` if one of them does not show its headers. */
function comparisonOf(
  sent: Judge['sent'],
  direct: Echo | null,
  proxied: Echo,
): Omit<Comparison, 'own'> | null {
  const [before, headers] = [direct?.headers, proxied.headers];
  if (!direct || !before || !headers) return null;
  return { sent, direct: { ...direct, headers: before }, proxied: { ...proxied, headers } };
}

/**
 * Reports what the proxy did to a request: `transparent` if any header shows one of our addresses, `anonymous` if
 * headers give the proxy away, otherwise `elite`. Also returns the names of added, changed or removed headers. A load
 * balancer in front of the judge adds headers as well; those are known from the direct answer, in which we are the client.
 */
export function compareHeaders(comparison: Comparison): { anonymity: Anonymity; tampering: string[] } {
  const { sent, direct, proxied, own } = comparison;
  const tampering = Object.keys(sent).filter((name) => name in direct.headers && !(name in proxied.headers));
  let shown = holdsAddress(proxied.chain, own);
  for (const name of Object.keys(proxied.headers)) {
    const value = proxied.headers[name] ?? '';
    if (value === sent[name] || HOP_BY_HOP.has(name)) continue;
    const usual = direct.headers[name];
    if (usual !== undefined && sent[name] === undefined) {
      // Added by the balancer: the same text, or the same text with the proxy's address.
      if (value === usual || value === usual.replaceAll(direct.address, proxied.address)) continue;
      if (holdsAddress(value, own)) shown = true;
      // Request IDs and similar values differ each time. Only a client's address is significant.
      else if (!usual.includes(direct.address)) continue;
    } else if (holdsAddress(value, own)) shown = true;
    tampering.push(name);
  }
  if (shown) return { anonymity: 'transparent', tampering };
  return { anonymity: tampering.some((name) => PROXY_HEADER.test(name)) ? 'anonymous' : 'elite', tampering };
}

/**
 * Reports whether the answer shows all headers that something in front of the judge always adds. A forged
 * answer lacks them.
 */
function showsUsualHeaders({ sent, direct, proxied }: Omit<Comparison, 'own'>): boolean {
  for (const name in direct.headers) {
    if (proxied.headers[name] === undefined && sent[name] === undefined && !HOP_BY_HOP.has(name))
      return false;
  }
  return true;
}

/**
 * Reports whether the text names one of the addresses: IPv4, any spelling of IPv6, mapped, in brackets, with a port.
 */
export function holdsAddress(text: string, addresses: ReadonlySet<string>): boolean {
  if (text === '' || addresses.size === 0) return false;
  for (const part of text.split(/[\s,;="'<>()]+/)) {
    const address = readAddress(part);
    if (address !== null && addresses.has(address)) return true;
  }
  return false;
}
