import type { Login } from '../proxy/login.ts';
import type { Anonymity } from '../proxy/proxy.ts';

/** What a client's connection is carried by: a tunnel to the target, or one request over plain http. */
export type Kind = 'tunnel' | 'plain';

/** A proxy that requests may be sent through, with what is known besides the gateway's own traffic. */
export interface Upstream {
  /** `http://203.0.113.9:8080`; unique. */
  key: string;
  /** How it is spoken to. */
  protocol: 'http' | 'socks4' | 'socks5';
  ip: string;
  port: number;
  /** What it asks its users for. */
  login: Login | null;
  /** Two letters, `ZZ` if it is not known. */
  country: string;
  anonymity: Anonymity | null;
  /** The address that targets see, if it is known. */
  exitIp: string | null;
  /** Share of the time in which it is expected to work, 0 to 1. */
  prior: number;
  /** Of a check, in ms. */
  latencyMs: number | null;
  /** A check has shown, unforgeably, that it carries this kind. */
  proven: Record<Kind, boolean>;
  /** What it may be used for. */
  carries: Record<Kind, boolean>;
}

/** Why an attempt to reach a target through an upstream was given up. */
export type Failure =
  /** No connection to it. */
  | 'unreachable'
  /** It ended the connection before there was an answer. */
  | 'closed'
  | 'auth_required'
  /** It says that it cannot or will not. */
  | 'declined'
  | 'protocol_error'
  /** It answered on its own instead of the target. */
  | 'page'
  /** It delivered a TLS alert. */
  | 'alert'
  /** The client did not believe that what answered is the target. */
  | 'distrusted'
  | 'timeout';
