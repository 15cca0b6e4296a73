import type { Login } from '../proxy/login.ts';
import { type Anonymity, type Dialled, UNKNOWN_COUNTRY } from '../proxy/proxy.ts';
import { loginTag, proxyKeyOf } from '../proxy/targets/site.ts';

/** What carries a client's connection: a tunnel to the target, or a single request over plain HTTP. */
export type Kind = 'tunnel' | 'plain';

/** A proxy that requests can be sent through, and what is known about it besides the gateway's own traffic. */
export interface Upstream {
  /** The ID of its record in the pool; `null` outside of a pool. */
  id: number | null;
  /** `http://203.0.113.9:8080`, with a hash of the login; unique. */
  key: string;
  protocol: 'http' | 'socks4' | 'socks5';
  /** An address, or the name of a proxy that the operator pays for, which is looked up at each dial. */
  ip: string;
  port: number;
  /** The credentials that it asks for. */
  login: Login | null;
  /** The name in its certificate if it speaks TLS itself. */
  tls: string | null;
  /** The list that named it first; empty if unknown. */
  source: string;
  /** Two letters, `ZZ` if unknown. */
  country: string;
  /** What sites learn: a proxy that forwards requests may add what it cannot add within its tunnels. */
  anonymity: Record<Kind, Anonymity | null>;
  /** The address that targets see, if it is known. */
  exitIp: string | null;
  /** Expected share of time in which it works, 0 to 1. */
  prior: number;
  /** Latency of a check, in ms. */
  latencyMs: number | null;
  /** Whether a check has proven, unforgeably, that it carries what it may be used for. */
  proven: boolean;
  carries: Record<Kind, boolean>;
  /** Whether it has worked for anyone, when the latest request went through it. */
  works: boolean;
}

/** Returns the response headers that tell which exit it was. */
export function exitHeaders(upstream: Upstream): string[] {
  const exit = `X-Picpool-Exit: ${exitOf(upstream)}`;
  return upstream.id === null ? [exit] : [exit, `X-Picpool-Proxy: ${upstream.id}`];
}

/** Why an attempt to reach a target through an upstream failed. */
export type Failure =
  /** The upstream could not be connected. */
  | 'unreachable'
  /** It closed the connection before an answer. */
  | 'closed'
  /** It delivered the beginning of an answer only. */
  | 'cut'
  | 'auth_required'
  /** It reported that it cannot or will not connect. */
  | 'declined'
  | 'protocol_error'
  /** It sent its own answer instead of the target's. */
  | 'page'
  /** It answered with an error that may be the target's. */
  | 'server_error'
  /** The client did not trust that the answer came from the target. */
  | 'distrusted'
  | 'timeout';

/**
 * Returns what tells exits apart: the address that sites see. While that is unknown, it is assumed to be the proxy's,
 * except for logins, which usually lead to different exits. Clients see it, so it tells nothing of a login.
 */
export function exitOf({ key, ip, exitIp, login }: Upstream): string {
  return exitIp ?? (login === null ? ip : loginTag(key));
}

/** An answer that has stood still for this long when its client leaves was cut: clients wait for longer, and sites rarely pause within one. */
export const CUT_MS = 2_000;
/** The same while its client still waits, as some do for minutes. */
export const STALLED_MS = 10_000;
/** A client that leaves after it has waited for an answer this long has given up. */
export const GIVEN_UP_MS = 5_000;

/** Expected share of time in which a proxy works of which nothing is known. */
const UNKNOWN_PRIOR = 0.3;

/** Returns a proxy as an upstream of which nothing is known. An `http` proxy may also support tunnels. */
export function unknownUpstream({ protocol, ip, port, login = null, tls = null }: Dialled): Upstream {
  return {
    id: null,
    key: proxyKeyOf({ protocol, ip, port, login, tls }),
    protocol: protocol === 'https' ? 'http' : protocol,
    ip,
    port,
    login,
    tls,
    source: '',
    country: UNKNOWN_COUNTRY,
    anonymity: { tunnel: null, plain: null },
    exitIp: null,
    prior: UNKNOWN_PRIOR,
    latencyMs: null,
    proven: false,
    carries: { tunnel: true, plain: protocol !== 'https' },
    works: false,
  };
}
