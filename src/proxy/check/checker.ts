import type { Socket } from 'node:net';
import process from 'node:process';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { canonicalAddress } from '../../lib/address.ts';
import type { Log } from '../../lib/logger.ts';
import { resolveHost } from '../../lib/resolve-host.ts';
import type { CheckResult, Dialled, Endpoint } from '../proxy.ts';
import { createDialler } from './dialler.ts';
import { createDirect } from './direct.ts';
import { CheckFault } from './fault.ts';
import { createInterrogation } from './interrogation.ts';
import { createJudges, type JudgesState } from './judges.ts';
import { createOverload } from './overload.ts';
import { refusalOf } from './policy.ts';
import { createRelays } from './relays.ts';
import { createWitnesses, type WitnessesState } from './witnesses.ts';

/** Our judge answers in about 1 KB; what is longer was tampered with. */
const MAX_ANSWER_BYTES = 16 * 1024;

/** Share of the whole limit within which the TCP connection must be established: the rest takes several round trips. */
const CONNECT_SHARE = 0.6;

/** A lack of sockets concerns thousands of checks at once; it is logged this often. */
const WARN_GAP_MS = 10_000;

/** How often a check is put back that this machine had no time for. */
const MOST_PUT_BACK = 3;

const UNKNOWN: CheckResult = { verdict: 'unknown', error: 'judge_down' };
const NO_ADDRESSES: ReadonlySet<string> = new Set();

export interface CheckerOptions {
  /** `http:` and `https:` URLs of pages that show the client's address; see `echo.ts` for their formats. */
  judges: readonly string[];
  /** `http:` URLs of large files; see `witnesses.ts`. None when not given. */
  witnesses?: readonly string[] | undefined;
  /** Maximum number of answers a second that one judge gives through proxies, on average; not limited when not given. */
  maxPerSecond?: number | undefined;
  /** Least time between two direct questions to a judge or witness; 5 s when not given, less in our own network. */
  questionGapMs?: number | undefined;
  /** PEM of certificate authorities that are trusted besides the built-in ones. */
  ca?: string;
  /** Limit of one exchange, from dialling to the last byte. */
  timeoutMs: number;
  /** Limit of connecting to the proxy; 0.6 of `timeoutMs` when not given. */
  connectTimeoutMs?: number;
  /** Maximum size in bytes of a judge's answer. */
  maxBytes?: number;
  /** Dials private and loopback addresses too, proxies and judges alike. */
  allowPrivate: boolean;
  /** Addresses of this machine, besides those that the judges report. */
  ownAddresses?: readonly string[];
  /** What our own judge proves its answers with (`judge.ts`); none when not given. */
  secrets?: () => readonly string[];
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

/** The judges, and the witnesses that replace a judge of our own. */
export interface JudgeState extends JudgesState {
  witnesses: WitnessesState;
}

/** Tells whether proxies work, by asking judges and witnesses through them. */
export interface Checker {
  /**
   * Checks one proxy. Never rejects. `unknown` when no judge answers directly, when this machine has no
   * sockets left, when the signal aborts, and after `close`. Each question takes at most the time limit; there are up to four of
   * them where judges disagree and a witness has to be heard.
   */
  check(endpoint: Dialled, signal?: AbortSignal): Promise<CheckResult>;
  /** True for addresses and ports that are never dialled: `check` returns `refused_address`. */
  refuses(endpoint: Endpoint): boolean;
  /** Asks every judge directly that has not been asked in the last seconds. Calls at the same time share the questions. */
  probe(): Promise<JudgeState>;
  judges(): JudgeState;
  /** Ends running checks at once. */
  close(): void;
}

/** Makes a checker; nothing is dialled before the first call. */
export function createChecker(options: CheckerOptions): Checker {
  const { timeoutMs, allowPrivate, questionGapMs, randomToken, now, log } = options;
  const monotonic = options.monotonic ?? (() => performance.now());
  const maxBytes = options.maxBytes ?? MAX_ANSWER_BYTES;
  const connectTimeoutMs = options.connectTimeoutMs ?? Math.ceil(timeoutMs * CONNECT_SHARE);
  const secureContext = lazySecureContext(options.ca);
  const secrets = options.secrets ?? (() => []);
  let closed = false;
  const dialler = createDialler({ dial: options.dial, connectTimeoutMs, timeoutMs, monotonic });
  const note = createFaultLog(log, monotonic);
  const overload = createOverload({ timeoutMs, monotonic, cpuMs });
  const remotes = {
    allowPrivate,
    questionGapMs,
    resolve: options.resolve ?? resolveName,
    now,
    monotonic,
    watch: overload.watch,
    // What breaks off because of `close` is no news about the judges.
    log: ((...event) => closed || log(...event)) as Log,
  };
  const direct = createDirect({ dialler, secureContext, maxBytes });
  const judges = createJudges({
    remotes,
    urls: options.judges,
    maxPerSecond: options.maxPerSecond,
    ownAddresses: options.ownAddresses ?? [],
    ask: direct.ask,
    randomToken,
    secrets,
  });
  const witnesses = createWitnesses({ remotes, urls: options.witnesses ?? [], fetchPart: direct.fetchPart });
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
    maxBytes,
    randomToken,
    secrets,
    monotonic,
  });

  function refuses(endpoint: Endpoint): boolean {
    const rules = { allowPrivate, own: allowPrivate ? NO_ADDRESSES : judges.ownAddresses() };
    return refusalOf(endpoint, rules) !== null;
  }

  async function check(endpoint: Dialled, signal?: AbortSignal): Promise<CheckResult> {
    if (refuses(endpoint)) return { verdict: 'dead', error: 'refused_address' };
    for (let n = 0; ; n++) {
      const room = overload.enter();
      if (room !== undefined) await room;
      const wasStarved = overload.watch();
      const startedAt = monotonic();
      let result = UNKNOWN;
      try {
        result = await interrogate(endpoint, signal);
      } catch (error) {
        note(error);
      }
      overload.leave();
      if (closed || signal?.aborted) return UNKNOWN;
      // What ran out of time while this machine had none is put back.
      const suspect = result.verdict === 'dead' ? result.error === 'timeout' : result.verdict === 'unknown';
      if (!suspect || n === MOST_PUT_BACK) return result;
      if (judges.isSlow(startedAt, timeoutMs)) overload.shrink();
      else if (!wasStarved()) return result;
    }
  }

  const state = (): JudgeState => ({ ...judges.state(), witnesses: witnesses.state() });

  return {
    check,
    refuses,
    async probe() {
      await judges.probe();
      // Where our own judge proves plain HTTP nobody else has to.
      const plain = judges.next('http');
      if (plain !== null && !plain.remote.said?.proven) void witnesses.probe();
      return state();
    },
    judges: state,
    close() {
      closed = true;
      dialler.close();
    },
  };
}

/** Tells the log of what a check has failed with that is not the proxy's fault. */
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

/** Made with the first check that needs it, so that no start waits for it; at once where it could fail. */
function lazySecureContext(ca: string | undefined): () => SecureContext {
  let context = ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, ca] });
  return () => {
    context ??= createSecureContext();
    return context;
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
