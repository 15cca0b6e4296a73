import { formatLogin, type Login } from './login.ts';

/** Protocols of a proxy. `https`: an HTTP proxy through which CONNECT to a verified TLS site works. */
export const PROTOCOLS = ['http', 'https', 'socks4', 'socks5'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export const STATUSES = ['alive', 'dead'] as const;
export type Status = (typeof STATUSES)[number];

/** `transparent`: the target sees the client's address; `anonymous`: it sees that there is a proxy; `elite`: neither. */
export const ANONYMITIES = ['transparent', 'anonymous', 'elite'] as const;
export type Anonymity = (typeof ANONYMITIES)[number];

/**
 * What proves that a proxy works, the strongest first. `tls`: a page that came through it over TLS with a verified certificate; `signed`: an
 * answer of our own judge; `relayed`: a part of a file that it could not know; `echoed`: only a page that it could have made up.
 */
export const PROOFS = ['tls', 'signed', 'relayed', 'echoed'] as const;
export type Proof = (typeof PROOFS)[number];

/** ISO 3166 code for "not known". */
export const UNKNOWN_COUNTRY = 'ZZ';

/** What a proxy is addressed by: two entries with the same endpoint are the same proxy. */
export interface Endpoint {
  protocol: Protocol;
  /** Canonical literal address (`lib/address.ts`). */
  ip: string;
  /** 1 to 65535. */
  port: number;
}

/** An endpoint as it is dialled. */
export interface Dialled extends Endpoint {
  /** What it asks its users for; it stands in no key, message or answer. */
  login?: Login | null;
}

/** Everything that is remembered about a proxy. Times are ms since 1970; `null` where it never happened. */
export interface ProxyRecord extends Endpoint {
  /** Positive, given by the store, stable for the life of the record. */
  id: number;
  /** Two upper-case letters: of the exit address where it is known, else of the address; `ZZ` when not known. */
  country: string;
  /** The list that named it first. */
  source: string;
  status: Status;
  /** Total time of the last passed check in ms. */
  responseMs: number | null;
  anonymity: Anonymity | null;
  /** Address that the judge saw at the last passed check. */
  exitIp: string | null;
  /** Why the last check failed; `null` after a passed one. */
  error: CheckError | null;
  firstSeen: number;
  lastChecked: number;
  lastAlive: number | null;
  /** When the scheduler wants the next check. */
  nextCheck: number;
  checks: number;
  successes: number;
  /** Checks in a row with the same result: positive passed, negative failed. */
  run: number;
  /** Start of the current run of passed or failed checks. */
  runSince: number;
  /** What orders: an estimate of the share of time alive, in which newcomers start low; see `history.ts`. */
  uptime: number;
  /** How much observation `uptime` rests on, 0 to 1; see `history.ts`. */
  uptimeWeight: number;
  /** Of the last passed check. */
  proof: Proof | null;
  /** Names of headers that the last passed check found changed or added, separated by blanks; empty: none. */
  tampering: string | null;
  /** What users said, as JSON; see `reports.ts`. */
  reports: string | null;
  /** What it asks its users for, where the operator's own list says it. For nobody else's eyes. */
  login: Login | null;
  /** The results of the latest checks, as bits behind a leading 1, the newest last; see `recentChecks`. */
  recent: number;
}

const MEMORY_MS = 24 * 3_600_000;

/**
 * The numbers behind `uptime`. Before anything was watched `priorShare` is believed, for as much watching as
 * `priorWeight` says, 15 minutes: on one public list, 13 % of the proxies seen working for the first time were still listed an
 * hour later. Under `enoughWeight`, an hour of watching, nothing is said about a day.
 */
export const UPTIME = {
  memoryMs: MEMORY_MS,
  priorShare: 0.13,
  priorWeight: (15 * 60_000) / MEMORY_MS,
  enoughWeight: 1 - Math.exp(-3_600_000 / MEMORY_MS),
} as const;

/** Why a check failed: coarse on purpose, so that tests cannot be used to map a network. */
export const CHECK_ERRORS = [
  'refused_address',
  'unreachable',
  'timeout',
  'protocol_error',
  'auth_required',
  'bad_answer',
  'wrong_exit',
  'tls_error',
] as const;
export type CheckError = (typeof CHECK_ERRORS)[number];

/** The outcome of one check. Times in ms. */
export type CheckResult =
  | {
      verdict: 'alive';
      connectMs: number;
      firstByteMs: number;
      totalMs: number;
      exitIp: string;
      anonymity: Anonymity;
      /** Names of headers that were added to the request on its way; empty when nothing was touched. */
      tampering: string[];
      proof: Proof;
    }
  | { verdict: 'dead'; error: CheckError }
  /** No judge answered directly either, so the check says nothing about the proxy. */
  | { verdict: 'unknown'; error: 'judge_down' };

/** Which records are meant; a field that is not given does not restrict. */
export interface ProxyFilter {
  protocol?: Protocol;
  /** One of these. */
  protocols?: readonly Protocol[];
  /** Upper-case code. */
  country?: string;
  /** One of these. */
  countries?: readonly string[];
  /** Upper-case code. */
  excludeCountry?: string;
  /** None of these. */
  excludeCountries?: readonly string[];
  /** One of these. */
  ports?: readonly number[];
  /** Whether the last passed check found a header changed. */
  tampers?: boolean;
  status?: Status;
  anonymity?: Anonymity;
  /** One of these. */
  proofs?: readonly Proof[];
  /** Whether it asks its users for a login. */
  login?: boolean;
  source?: string;
  maxResponseMs?: number;
  /** Last checked at this time or later. */
  checkedSince?: number;
  /** Share of time known alive, 0 to 1; see `uptimeOf`. */
  minUptime?: number;
  /** 0 to 1. */
  minScore?: number;
}

/**
 * `dependable`: score first, then response time; the rest are single fields, best or newest first.
 * Ties are broken by id in every order.
 */
export const SORTS = ['dependable', 'response_time', 'last_checked', 'first_seen'] as const;
export type Sort = (typeof SORTS)[number];

/** `203.0.113.9:8080`, with brackets around IPv6. */
export function formatAddress({ ip, port }: Pick<Endpoint, 'ip' | 'port'>): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** `socks5://203.0.113.9:1080`: one proxy in the form that clients take. */
export function formatUrl(endpoint: Endpoint): string {
  return `${endpoint.protocol}://${formatAddress(endpoint)}`;
}

/** `203.0.113.9:8080:user:password`, or `203.0.113.9:8080` where there is no login; for those alone who may know it. */
export function formatAddressWithLogin({ login, ...endpoint }: Dialled): string {
  return login ? `${formatAddress(endpoint)}:${login}` : formatAddress(endpoint);
}

/** `http://user:password@203.0.113.9:8080`: the same with the login, for those alone who may know it. */
export function formatWithLogin({ login, ...endpoint }: Dialled): string {
  if (!login) return formatUrl(endpoint);
  return `${endpoint.protocol}://${formatLogin(login)}@${formatAddress(endpoint)}`;
}
