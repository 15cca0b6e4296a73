import type { Socket } from 'node:net';
import process from 'node:process';
import { canonicalAddress, isHostName } from '../../lib/address.ts';
import { within } from '../../lib/deadline.ts';
import type { Log } from '../../lib/logger.ts';
import { isUnknownName, resolveHost } from '../../lib/resolve-host.ts';
import type { CheckResult, Dialled, Endpoint } from '../proxy.ts';
import { createDialler } from './dialler.ts';
import { askDirectly, lazySecureContext, rangeRequest } from './exchange.ts';
import { CheckFault } from './fault.ts';
import { answerReader } from './http.ts';
import { createInterrogation, createRelays, UNKNOWN } from './interrogation.ts';
import { createJudges, type JudgesState } from './judges.ts';
import { createOverload } from './overload.ts';
import { isRefused } from './policy.ts';
import { BLOCK_BYTES, createWitnesses, type WitnessesState } from './witnesses.ts';

/** A lack of sockets affects thousands of checks at once, so it is logged at most this often. */
const WARN_GAP_MS = 10_000;

/** How often a check is postponed because this machine had no time for it. */
const MOST_PUT_BACK = 3;

export interface CheckerOptions {
  /** `http:` and `https:` URLs of pages that show the client's address; see `echo.ts` for their formats. */
  judges: readonly string[];
  /** `http:` URLs of large files; see `witnesses.ts`. Default: none. */
  witnesses?: readonly string[] | undefined;
  /** Maximum number of answers a second that one judge gives through proxies, on average. Default: unlimited. */
  maxPerSecond?: number | undefined;
  /** Minimum time between two direct questions to a judge or witness. Default: 5 s, less in our own network. */
  questionGapMs?: number | undefined;
  /** PEM of certificate authorities to trust in addition to the built-in ones. */
  ca?: string;
  /** Time limit of one exchange, from dialling to the last byte. */
  timeoutMs: number;
  /** Also dials private and loopback addresses, of proxies and judges alike. */
  allowPrivate: boolean;
  /** Addresses of this machine, in addition to those that the judges report. */
  ownAddresses?: readonly string[];
  /** Secrets with which our own judge proves its answers (`judge.ts`). Default: none. */
  secrets?: () => readonly string[];
  /** Resolves a name to all its addresses. Default: the system's resolver. */
  resolve?: (host: string) => Promise<readonly string[]>;
  /** Begins a TCP connection to a literal address. */
  dial?: (address: string, port: number) => Socket;
  /** Ms since 1970. */
  now: () => number;
  /** A monotonic clock in ms. Default: `performance.now`. */
  monotonic?: () => number;
  /** Returns a fresh unguessable token of letters, digits, `-` and `_`. */
  randomToken: () => string;
  log: Log;
}

/** The state of the judges, and of the witnesses that replace a judge of our own. */
export interface JudgeState extends JudgesState {
  witnesses: WitnessesState;
}

/** Creates a checker. Nothing is dialled before the first call. */
export function createChecker(options: CheckerOptions) {
  const { timeoutMs, allowPrivate, questionGapMs, randomToken, now, log } = options;
  const monotonic = options.monotonic ?? (() => performance.now());
  const secureContext = lazySecureContext(options.ca);
  const secrets = options.secrets ?? (() => []);
  let closed = false;
  const dialler = createDialler({ ...options, monotonic });
  const note = createFaultLog(log, monotonic);
  const overload = createOverload({ timeoutMs, monotonic, cpuMs });
  const remotes = {
    allowPrivate,
    questionGapMs,
    resolve: (host: string) => within(timeoutMs, (options.resolve ?? resolveName)(host)),
    now,
    monotonic,
    watch: overload.watch,
    // A question that ends because of `close` says nothing about the judge.
    log: ((...event) => closed || log(...event)) as Log,
  };
  /** Asks a judge or a witness without a proxy. */
  const hold = <T>(request: Parameters<typeof askDirectly<T>>[0]) =>
    dialler.hold(request.target.address ?? '', request.target.port, askDirectly(request));
  const judges = createJudges({
    remotes,
    urls: options.judges,
    maxPerSecond: options.maxPerSecond,
    ownAddresses: options.ownAddresses ?? [],
    ask: (target, path) => hold({ target, path, hear: answerReader(), secureContext }),
    randomToken,
    secrets,
  });
  const witnesses = createWitnesses({
    remotes,
    urls: options.witnesses ?? [],
    fetchPart: (target, from, to) =>
      hold(rangeRequest(target, { from, to, maxBytes: BLOCK_BYTES }, secureContext)),
  });
  for (const scheme of ['http', 'https'] as const) {
    if (!judges.has(scheme)) log('warn', 'no judge for this scheme', { scheme });
  }
  const interrogate = createInterrogation({
    dialler,
    judges,
    witnesses,
    relays: createRelays(monotonic),
    allowPrivate,
    secureContext,
    randomToken,
    secrets,
    monotonic,
  });

  function refuses(endpoint: Endpoint): boolean {
    return isRefused(endpoint, { allowPrivate, own: judges.ownAddresses() });
  }

  async function check(listed: Dialled, signal?: AbortSignal, afresh = false): Promise<CheckResult> {
    const endpoint = isHostName(listed.ip) ? await located(listed, refuses, remotes.resolve) : listed;
    if (endpoint === 'unresolved') return UNKNOWN;
    if (typeof endpoint === 'string') return { verdict: 'dead', error: endpoint };
    if (refuses(endpoint)) return { verdict: 'dead', error: 'refused_address' };
    for (let n = 0; ; n++) {
      const room = overload.enter();
      if (room !== undefined) await room;
      const wasStarved = overload.watch();
      const startedAt = monotonic();
      let result = UNKNOWN;
      try {
        result = await interrogate(endpoint, signal, afresh);
      } catch (error) {
        note(error);
      }
      overload.leave();
      if (closed || signal?.aborted) return UNKNOWN;
      // A check that timed out while this machine was overloaded is postponed.
      const suspect = result.verdict === 'dead' ? result.error === 'timeout' : result.verdict === 'unknown';
      if (!suspect || n === MOST_PUT_BACK) return result;
      if (judges.isSlow(startedAt, timeoutMs)) overload.shrink();
      else if (!wasStarved()) return result;
    }
  }

  const state = (): JudgeState => ({ ...judges.state(), witnesses: witnesses.state() });

  return {
    /**
     * Checks one proxy, whose name is looked up first; the address that was judged is the one that is dialled. Never
     * rejects. Returns `unknown` if no judge answers directly, if this machine has no sockets left, if the signal
     * aborts, and after `close`. Each question takes at most the time limit. There are up to four questions if judges
     * disagree and a witness has to be asked, which `afresh` demands of one that is still believed.
     */
    check,
    /** Reports whether this address or port is never dialled. `check` then returns `refused_address`. */
    refuses,
    /** Asks every judge directly that was not asked in the last few seconds. Concurrent calls share the questions. */
    async probe(): Promise<JudgeState> {
      await judges.probe();
      // If our own judge proves plain HTTP, no witness is needed.
      const plain = judges.next('http');
      if (plain !== null && !plain.remote.said?.proven) void witnesses.probe();
      return state();
    },
    judges: state,
    /** Ends running checks at once. */
    close(): void {
      closed = true;
      dialler.close();
    },
  };
}

/** Finds out whether proxies work by asking judges and witnesses through them. */
export type Checker = ReturnType<typeof createChecker>;

/** Returns a checker that tells each result. It is asked for all that the caller asks for. */
export function watched(checker: Checker, tell: (endpoint: Dialled, result: CheckResult) => void): Checker {
  return {
    ...checker,
    async check(...asked) {
      const result = await checker.check(...asked);
      tell(asked[0], result);
      return result;
    },
  };
}

/**
 * Returns a proxy with the first address of its name, all of which must be ones that may be dialled. `unresolved`: the
 * name server has failed, which says nothing about the proxy.
 */
export async function located(
  named: Dialled,
  refuses: (endpoint: Endpoint) => boolean,
  resolve: (host: string) => Promise<readonly string[]> = resolveName,
): Promise<Dialled | 'unreachable' | 'refused_address' | 'unresolved'> {
  if (!isHostName(named.ip)) return named;
  const found = await resolve(named.ip).catch((error) => (isUnknownName(error) ? [] : null));
  if (found === null) return 'unresolved';
  const [first] = found;
  if (first === undefined) return 'unreachable';
  return found.some((ip) => refuses({ ...named, ip })) ? 'refused_address' : { ...named, ip: first };
}

/** Logs failures of checks that are not the proxy's fault. */
function createFaultLog(log: Log, monotonic: () => number): (error: unknown) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (!(error instanceof CheckFault)) {
      log('error', 'check failed unexpectedly', { error });
    } else if (error.code === 'exhausted' && monotonic() - warnedAt >= WARN_GAP_MS) {
      warnedAt = monotonic();
      log(
        'error',
        'no sockets left for checks: lower PROXY_CHECK_CONCURRENCY or raise the limit of open files',
      );
    }
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function resolveName(host: string): Promise<string[]> {
  const found = await resolveHost(host);
  return found.flatMap(({ address }) => canonicalAddress(address) ?? []);
}
