import { connect as connectTcp, type Socket } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { canonicalAddress, isGloballyRoutable } from '../../lib/address.ts';
import type { Log } from '../../lib/logger.ts';
import { resolveHost } from '../../lib/resolve-host.ts';
import type { CheckError, CheckResult, Endpoint } from '../proxy.ts';
import { compareHeaders } from './compare.ts';
import { type Connection, openConnection } from './connection.ts';
import { type Echo, readEcho } from './echo.ts';
import { askDirectly, askThrough, isCommitted, type JudgeTarget } from './exchange.ts';
import { CheckFault, type FaultCode } from './fault.ts';
import type { HttpAnswer } from './http.ts';
import { createJudges, type Judge, type JudgeState } from './judges.ts';
import { createOpenConnections } from './open-connections.ts';
import { refusalOf } from './policy.ts';

export type { JudgeState } from './judges.ts';

/** Our judge answers in about 1 KB; what is longer was tampered with. */
const MAX_ANSWER_BYTES = 16 * 1024;

/** Share of the whole limit in which the TCP connection must stand: the rest takes several round trips more. */
const CONNECT_SHARE = 0.6;

/** How late a time limit may strike at most. */
const MAX_TICK_MS = 10;

/** A lack of sockets concerns thousands of checks at once; it is logged this often. */
const WARN_GAP_MS = 10_000;

const UNKNOWN: CheckResult = { verdict: 'unknown', error: 'judge_down' };

export interface CheckerOptions {
  /** `http:` and `https:` URLs of judges; see `judge.ts` for what they must answer. */
  judges: readonly string[];
  /** PEM of certificate authorities that are trusted besides the built-in ones. */
  ca?: string;
  /** Limit of one check, from dialling to the last byte. */
  timeoutMs: number;
  /** Limit of connecting to the proxy; 0.6 of `timeoutMs` when not given. */
  connectTimeoutMs?: number;
  /** Most bytes of a judge's answer. */
  maxBytes?: number;
  /** Dials private and loopback addresses too, proxies and judges alike. */
  allowPrivate: boolean;
  /** Addresses of this machine, besides those that the judges report. */
  ownAddresses?: readonly string[];
  /** What our own judge proves its answers with (`judge.ts`). */
  secret?: string;
  /** All addresses of a name; the system's resolver when not given. */
  resolve?: (host: string) => Promise<readonly string[]>;
  /** Begins a TCP connection to a literal address. */
  dial?: (address: string, port: number) => Socket;
  /** Ms since 1970. */
  now: () => number;
  /** A clock in ms that never goes back; `performance.now` when not given. */
  monotonic?: () => number;
  /** Unguessable, a fresh one per call; letters, digits, `-` and `_`. */
  randomToken: () => string;
  log: Log;
}

/** Tells whether proxies work, by asking a judge through them. */
export interface Checker {
  /**
   * Checks one proxy. Never rejects. `unknown` when no judge answers directly, when this machine has no
   * sockets left, when the signal aborts, and after `close`. It takes at most the time limit; where the judge itself failed, once more that, and the time to find out.
   */
  check(endpoint: Endpoint, signal?: AbortSignal): Promise<CheckResult>;
  /** Asks every judge directly. Calls at the same time share the questions. */
  probe(): Promise<JudgeState>;
  judges(): JudgeState;
  /** Ends running checks at once. */
  close(): void;
}

/** Makes a checker; nothing is dialled before the first call. */
export function createChecker(options: CheckerOptions): Checker {
  const { timeoutMs, allowPrivate, now, randomToken, secret, log } = options;
  const monotonic = options.monotonic ?? (() => performance.now());
  const dial = options.dial ?? dialTcp;
  const maxBytes = options.maxBytes ?? MAX_ANSWER_BYTES;
  const connectTimeoutMs = options.connectTimeoutMs ?? Math.ceil(timeoutMs * CONNECT_SHARE);
  // Made with the first check that needs it, so that no start waits for it; at once where it could fail.
  let context =
    options.ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, options.ca] });
  const secureContext = () => {
    context ??= createSecureContext();
    return context;
  };
  const live = createOpenConnections(Math.min(MAX_TICK_MS, Math.ceil(timeoutMs / 20)), monotonic);
  let closed = false;
  let warnedAt = Number.NEGATIVE_INFINITY;

  const judges = createJudges({
    urls: options.judges,
    resolve: options.resolve ?? resolveName,
    ask: askJudge,
    allowPrivate,
    ownAddresses: options.ownAddresses ?? [],
    randomToken,
    secret,
    now,
    monotonic,
    // What breaks off because of `close` is no news about the judges.
    log: (...event) => closed || log(...event),
  });
  for (const scheme of ['http', 'https'] as const) {
    if (!judges.has(scheme)) log('warn', 'no judge for this scheme', { scheme });
  }

  function warnExhausted(): void {
    if (monotonic() - warnedAt < WARN_GAP_MS) return;
    warnedAt = monotonic();
    log(
      'error',
      'no sockets left for checks: lower PROXY_CHECK_CONCURRENCY or raise the limit of open files',
    );
  }

  /** Begins a connection on which a conversation must be held, as that closes it. */
  function begin(address: string, port: number): Connection {
    if (closed) throw new CheckFault('aborted', 'closed');
    const socket = dial(address, port);
    const connection = openConnection({
      socket,
      connectTimeoutMs,
      timeoutMs,
      monotonic,
      finish: live.finish,
    });
    live.add(connection);
    return connection;
  }

  async function askJudge(target: JudgeTarget, token: string): Promise<HttpAnswer> {
    const conversation = askDirectly({ target, token, secureContext, maxBytes });
    return begin(target.address ?? '', target.port).hold(conversation);
  }

  function judgeExit(endpoint: Endpoint, judge: Judge, echo: Echo): CheckError | null {
    if (allowPrivate && !isGloballyRoutable(echo.address)) return null;
    if (!isGloballyRoutable(echo.address)) return 'wrong_exit';
    // The judge saw us, not the proxy. That is right only for a proxy on our own machine or network.
    const local = !isGloballyRoutable(endpoint.ip) || judges.ownAddresses().has(endpoint.ip);
    return !local && echo.address === judge.direct?.address ? 'wrong_exit' : null;
  }

  /** One attempt with one judge. `committed`: the proxy may have been waiting for the judge when it failed. */
  async function attempt(
    endpoint: Endpoint,
    judge: Judge,
    signal: AbortSignal | undefined,
  ): Promise<CheckResult | { failed: FaultCode; committed: boolean }> {
    const { target, sent, direct } = judge;
    const token = randomToken();
    const conversation = askThrough(endpoint.protocol, { target, token, secureContext, maxBytes });
    const connection = begin(endpoint.ip, endpoint.port);
    const failed = (code: FaultCode) => ({
      failed: code,
      committed: isCommitted(endpoint.protocol, connection.turnsBegun),
    });
    const onAbort = () => connection.abort('aborted');
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const { status, body } = await connection.hold(conversation);
      const proxied = status === 200 ? readEcho(body, token, secret) : null;
      if (proxied === null || direct === null || !isSameKind(proxied, direct)) return failed('bad_answer');
      const exitError = judgeExit(endpoint, judge, proxied);
      if (exitError !== null) return { verdict: 'dead', error: exitError };
      const { connectMs, firstByteMs, totalMs } = connection.times();
      const own = judges.ownAddresses();
      const { anonymity, tampering } = compareHeaders({ sent, token, direct, proxied, own });
      const exitIp = proxied.address;
      return { verdict: 'alive', connectMs, firstByteMs, totalMs, exitIp, anonymity, tampering };
    } catch (error) {
      if (error instanceof CheckFault) return failed(error.code);
      log('error', 'check failed unexpectedly', { error });
      return failed('protocol_error');
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** From when on the judge must have been seen working, for a failure to be the proxy's; `null` where it is so anyway. */
  function evidenceSince(failed: FaultCode, committed: boolean, startedAt: number): number | null {
    // What timed out in full would have been answered by a judge (and a network) that worked in its second half.
    if (failed === 'timeout') return startedAt + (monotonic() - startedAt) / 2;
    // Without a route or a socket to spare every proxy is unreachable, but the judge is, too.
    if (failed === 'unreachable') return startedAt;
    return committed && failed !== 'auth_required' ? monotonic() : null;
  }

  async function check(endpoint: Endpoint, signal?: AbortSignal): Promise<CheckResult> {
    const rules = { allowPrivate, own: allowPrivate ? NO_ADDRESSES : judges.ownAddresses() };
    if (refusalOf(endpoint, rules) !== null) return { verdict: 'dead', error: 'refused_address' };
    // SOCKS carries anything, so a judge without TLS will do; the other kind where it is the only one.
    const scheme =
      endpoint.protocol === 'https' || (endpoint.protocol !== 'http' && !judges.has('http'))
        ? 'https'
        : 'http';
    // A second judge is tried only where the first turned out to be down.
    for (let round = 0; round < 2; round++) {
      const judge = judges.next(scheme) ?? (await judges.find(scheme));
      if (judge === null || closed || signal?.aborted) return UNKNOWN;
      const startedAt = monotonic();
      const result = await attempt(endpoint, judge, signal);
      if ('verdict' in result) {
        if (result.verdict === 'alive') judges.witness(judge, startedAt);
        return result;
      }
      const { failed, committed } = result;
      if (failed === 'exhausted') warnExhausted();
      if (failed === 'aborted' || failed === 'exhausted' || closed || signal?.aborted) return UNKNOWN;
      const since = evidenceSince(failed, committed, startedAt);
      if (since === null || (await judges.confirm(judge, since))) {
        return { verdict: 'dead', error: failed };
      }
      if (closed || signal?.aborted) return UNKNOWN;
    }
    return UNKNOWN;
  }

  return {
    check,
    probe: () => judges.probe(),
    judges: () => judges.state(),
    close() {
      closed = true;
      live.abortAll();
    },
  };
}

const NO_ADDRESSES: ReadonlySet<string> = new Set();

/** A judge does not change its format, its page or its proof because a proxy asks. */
function isSameKind(echo: Echo, direct: Echo): boolean {
  return echo.format === direct.format && echo.frame === direct.frame && echo.proven === direct.proven;
}

function dialTcp(address: string, port: number): Socket {
  return connectTcp({ host: address, port, autoSelectFamily: false });
}

async function resolveName(host: string): Promise<string[]> {
  const found = await resolveHost(host);
  return found.flatMap(({ address }) => canonicalAddress(address) ?? []);
}
