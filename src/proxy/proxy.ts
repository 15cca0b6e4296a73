import { bracketed } from '../lib/address.ts';
import { formatLogin, type Login } from './login.ts';

/** Protocols of a proxy. `https` is an HTTP proxy that can CONNECT to a TLS site with a verified certificate. */
export const PROTOCOLS = ['http', 'https', 'socks4', 'socks5'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export const STATUSES = ['alive', 'dead'] as const;
export type Status = (typeof STATUSES)[number];

/**
 * `transparent`: the target sees the client's address; `anonymous`: it sees that a proxy is in use; `elite`:
 * it sees neither.
 */
export const ANONYMITIES = ['transparent', 'anonymous', 'elite'] as const;
export type Anonymity = (typeof ANONYMITIES)[number];

/**
 * What proves that a proxy works, strongest first. `tls`: a page over TLS with a verified certificate;
 * `signed`: an answer of our own judge; `relayed`: a part of a file that the proxy could not know; `echoed`:
 * only a page that the proxy could have made up.
 */
export const PROOFS = ['tls', 'signed', 'relayed', 'echoed'] as const;
export type Proof = (typeof PROOFS)[number];
/** The proofs that a proxy cannot forge. */
export const UNFORGEABLE: readonly Proof[] = PROOFS.filter((proof) => proof !== 'echoed');

/** Returns the address that sites see, unless only a page said so that the proxy could have made up. */
export function provenExit({ proof, exitIp }: { proof: Proof | null; exitIp: string | null }): string | null {
  return proof === 'relayed' || proof === 'echoed' ? null : exitIp;
}

/** The code for an unknown country, from the user-assigned range of ISO 3166. */
export const UNKNOWN_COUNTRY = 'ZZ';

/** Returns the country of the proven exit if it is known, otherwise that of the proxy's own address. */
export function countryBy(
  countryOf: (address: string) => string,
  { ip, ...seen }: Parameters<typeof provenExit>[0] & Pick<Endpoint, 'ip'>,
): string {
  const exit = provenExit(seen);
  const country = exit === null ? UNKNOWN_COUNTRY : countryOf(exit);
  return country === UNKNOWN_COUNTRY ? countryOf(ip) : country;
}

/** Identifies a proxy: two entries with the same endpoint are the same proxy. */
export interface Endpoint {
  protocol: Protocol;
  /** Canonical literal address (`lib/address.ts`). */
  ip: string;
  /** 1 to 65535. */
  port: number;
}

/** An endpoint with what is needed to dial it. In the operator's own lists, `ip` may be a host name. */
export interface Dialled extends Endpoint {
  /** The credentials that it asks for. They appear in no key, message or answer. */
  login?: Login | null;
  /** The name in the certificate of a proxy that itself speaks TLS; none if it does not. */
  tls?: string | null;
}

/** Everything the server knows about a proxy. Times are ms since 1970, `null` if it never happened. */
export interface ProxyRecord extends Endpoint {
  /** A positive number, assigned by the store, which never changes. */
  id: number;
  /**
   * Two upper-case letters: the country of the proven exit if it is known, otherwise of the address; `ZZ` if
   * unknown.
   */
  country: string;
  /** The list that named it first. */
  source: string;
  status: Status;
  /** Total time of the last successful check in ms. */
  responseMs: number | null;
  anonymity: Anonymity | null;
  /** Address that the judge saw in the last successful check. */
  exitIp: string | null;
  /** Why the last check failed; `null` after a success. */
  error: CheckError | null;
  firstSeen: number;
  lastChecked: number;
  lastAlive: number | null;
  /** When the scheduler wants the next check. */
  nextCheck: number;
  checks: number;
  successes: number;
  /** Number of checks in a row with the same result: positive for successes, negative for failures. */
  run: number;
  /** When the current run of successes or failures began. */
  runSince: number;
  /**
   * The score for sorting: an estimate of the share of time alive, in which newcomers start low; see `history.ts`.
   */
  uptime: number;
  /** How much observation `uptime` is based on, 0 to 1; see `history.ts`. */
  uptimeWeight: number;
  proof: Proof | null;
  /** Names of headers that the last successful check found changed, added or removed, separated by spaces; empty if none. */
  tampering: string | null;
  /** Reports of users as JSON; see `reports.ts`. */
  reports: string | null;
  /** The credentials that it asks for, if the operator's own list gives them. Secret. */
  login: Login | null;
  /** The results of the latest checks, as bits after a leading 1, the newest last; see `recentChecks`. */
  recent: number;
}

/** What a check has shown of a paid upstream, in the words of a record, but without one. */
export interface Paid
  extends Dialled,
    Pick<ProxyRecord, 'country' | 'source' | 'anonymity' | 'exitIp' | 'uptime' | 'responseMs'> {
  id: null;
}

const MEMORY_MS = 24 * 3_600_000;

/**
 * The constants of `uptime`. Before any observation it is `priorShare`, with the weight of `priorWeight`, 15
 * minutes of observation: on one public list, 13 % of the proxies seen working for the first time were still
 * listed an hour later. Below `enoughWeight`, an hour of observation, no uptime over a day is given.
 */
export const UPTIME = {
  memoryMs: MEMORY_MS,
  priorShare: 0.13,
  priorWeight: (15 * 60_000) / MEMORY_MS,
  enoughWeight: 1 - Math.exp(-3_600_000 / MEMORY_MS),
} as const;

/** Why a check failed. Coarse on purpose, so that tests cannot be used to map a network. */
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
      /** Names of headers that were added, changed or removed on the way; empty if none. */
      tampering: string[];
      proof: Proof;
    }
  | { verdict: 'dead'; error: CheckError }
  /** No judge answered directly either, so the check says nothing about the proxy. */
  | { verdict: 'unknown'; error: 'judge_down' };

/** Selects records. A missing field does not restrict. */
export interface ProxyFilter {
  /** Any of these. */
  protocols?: readonly Protocol[] | undefined;
  /** Any of these, upper-case codes. */
  countries?: readonly string[] | undefined;
  /** None of these. */
  excludeCountries?: readonly string[] | undefined;
  /** Any of these. */
  ports?: readonly number[] | undefined;
  /** Whether the last successful check found a header changed. */
  tampers?: boolean | undefined;
  status?: Status | undefined;
  anonymity?: Anonymity | undefined;
  /** Any of these. */
  proofs?: readonly Proof[] | undefined;
  /** Whether the proxy asks for a login. */
  login?: boolean | undefined;
  source?: string | undefined;
  maxResponseMs?: number | undefined;
  /** Last checked at this time or later. */
  checkedSince?: number | undefined;
  /** Last checked at this time or before. */
  checkedUntil?: number | undefined;
  /** Share of time known alive, 0 to 1; see `uptimeOf`. */
  minUptime?: number | undefined;
  /** 0 to 1. */
  minScore?: number | undefined;
}

/**
 * `dependable` sorts by score, then by response time. The others sort by one field, best or newest first.
 * Ties are always broken by ID.
 */
export const SORTS = ['dependable', 'response_time', 'last_checked', 'first_seen'] as const;
export type Sort = (typeof SORTS)[number];

/** Returns `203.0.113.9:8080`, with brackets around IPv6. */
export function formatAddress({ ip, port }: Pick<Endpoint, 'ip' | 'port'>): string {
  return `${bracketed(ip)}:${port}`;
}

/** Returns `socks5://203.0.113.9:1080`, the form that clients take. */
export function formatUrl(endpoint: Endpoint): string {
  return `${endpoint.protocol}://${formatAddress(endpoint)}`;
}

/**
 * Returns `203.0.113.9:8080:user:password`, or `203.0.113.9:8080` without a login. Only for callers who may
 * know the login.
 */
export function formatAddressWithLogin({ login, ...endpoint }: Dialled): string {
  return login ? `${formatAddress(endpoint)}:${login}` : formatAddress(endpoint);
}

/** Returns `http://user:password@203.0.113.9:8080`. Only for callers who may know the login. */
export function formatWithLogin({ login, ...endpoint }: Dialled): string {
  const scheme = endpoint.tls ? 'tls' : endpoint.protocol;
  return `${scheme}://${login ? `${formatLogin(login)}@` : ''}${formatAddress(endpoint)}`;
}
