import type { Protocol } from '../proxy.ts';
import { type Echo, readEcho } from './echo.ts';
import { pathWith, sentHeaders, type Target } from './exchange.ts';
import type { HttpAnswer } from './http.ts';
import { AskFault, createRemote, pause, type Remote, type RemoteState } from './remote.ts';
import {
  confirm,
  firstUp,
  probe,
  type RemotesOptions,
  type RemotesState,
  renew,
  stateOf,
} from './remotes.ts';

/** Age at which a good direct answer is renewed, because our own address may have changed. */
const BASELINE_MS = 5 * 60_000;

/** Share of the checks' time limit from which an answer to a direct question counts as slow. */
const SLOW_SHARE = 1 / 8;

export type Scheme = 'http' | 'https';

/** Returns the kind of judge for a protocol. For SOCKS, one without TLS is enough only if no other is configured. */
export function schemeFor(protocol: Protocol, hasTls: boolean): Scheme {
  return protocol === 'https' || (protocol !== 'http' && hasTls) ? 'https' : 'http';
}

/** The state of all judges. */
export interface JudgesState {
  /** The state of all judges together. */
  state: 'unknown' | 'up' | 'down';
  schemes: Record<Scheme, RemotesState>;
  judges: RemoteState[];
}

/** A judge and its state. */
export interface Judge {
  readonly scheme: Scheme;
  readonly host: string;
  readonly remote: Remote<Echo>;
  readonly sent: Readonly<Record<string, string>>;
  /** Of its answers through proxies. */
  readonly rate: Rate;
}

interface JudgesOptions {
  urls: readonly string[];
  /** Maximum number of answers a second that one judge gives through proxies, on average. Default: unlimited. */
  maxPerSecond?: number | undefined;
  /** Known addresses of this machine. */
  ownAddresses: readonly string[];
  /** Asks for a path without a proxy. Rejects if that fails. */
  ask: (target: Target, path: string) => Promise<HttpAnswer>;
  randomToken: () => string;
  secrets: () => readonly string[];
  remotes: RemotesOptions;
}

export function createJudges(options: JudgesOptions) {
  const { ownAddresses, remotes } = options;
  const { monotonic } = remotes;
  const question = (target: Target) => askJudge(target, options);
  const entries = options.urls.map((url): Judge => {
    const remote = createRemote<Echo>({ ...remotes, kind: 'judge', url, question, onAnswer });
    const { scheme, host } = remote.target;
    const rate = createRate(options.maxPerSecond ?? Number.POSITIVE_INFINITY, monotonic);
    return { scheme, host, remote, sent: sentHeaders(remote.target), rate };
  });
  const byScheme = {
    http: entries.filter(({ scheme }) => scheme === 'http'),
    https: entries.filter(({ scheme }) => scheme === 'https'),
  };
  const confirmUplink = createUplink(entries, monotonic);
  let own: ReadonlySet<string> = new Set(ownAddresses);
  let turn = 0;

  function onAnswer(): void {
    own = new Set([...ownAddresses, ...entries.flatMap(({ remote }) => remote.said?.address ?? [])]);
  }

  /** Returns the best judges that answer: our own of plain HTTP, then those that are not left out. */
  function usable(scheme: Scheme, avoid: string | undefined): Judge[] {
    let found: Judge[] = [];
    let best = 0;
    for (const entry of byScheme[scheme]) {
      const { remote, host } = entry;
      if (!remote.up || host === avoid) continue;
      const worth = remote.standing.isLeftOut() ? 0 : scheme === 'http' && remote.said?.proven ? 2 : 1;
      if (worth < best) continue;
      if (worth > best) found = [];
      best = worth;
      found.push(entry);
    }
    return found;
  }

  function next(scheme: Scheme, avoid?: string): Judge | null {
    renew(byScheme[scheme], monotonic(), BASELINE_MS);
    const fitting = usable(scheme, avoid);
    for (let n = 0; n < fitting.length; n++) {
      const entry = fitting[turn++ % fitting.length];
      if (entry && entry.rate.waitMs() <= 0) return entry;
    }
    return null;
  }

  async function find(scheme: Scheme, avoid?: string, signal?: AbortSignal): Promise<Judge | null> {
    for (;;) {
      const known = next(scheme, avoid);
      if (known !== null) return known;
      const busy = usable(scheme, avoid).map(({ rate }) => rate.waitMs());
      if (busy.length === 0 || signal?.aborted) break;
      await pause(Math.min(...busy), signal);
    }
    await firstUp(byScheme[scheme].filter(({ host }) => host !== avoid));
    return next(scheme, avoid);
  }

  function state(): JudgesState {
    const judges = statesOf(entries);
    const state = stateOf(judges);
    return {
      state: state === 'none' ? 'unknown' : state,
      schemes: { http: stateOf(statesOf(byScheme.http)), https: stateOf(statesOf(byScheme.https)) },
      judges,
    };
  }

  return {
    /**
     * Returns the next judge of the scheme that is known to work, on another host than `avoid`, or `null`. If our own
     * judge of plain HTTP works, only that one. Old answers are renewed in the background.
     */
    next,
    /**
     * Like `next`, but asks the judges if none is known to work, and waits if all are busy, until the signal aborts.
     */
    find,
    /**
     * Reports whether the judge is known to have worked at `since` (monotonic) or later. Asks it if that is possible
     * soon.
     */
    confirm: ({ remote }: Judge, since: number) => confirm(remote, since),
    /** Reports the same of our own network. An answer of any judge proves it. */
    confirmUplink,
    /** Records a good answer through a proxy. It proves that the judge worked at `at` (monotonic). */
    accepted({ rate, remote }: Judge, at: number): void {
      rate.spend();
      remote.accepted(at);
    },
    /**
     * Reports whether direct answers since then (monotonic) were slow, so that checks within the time limit may have
     * been slow as well.
     */
    isSlow: (since: number, timeoutMs: number): boolean => {
      const asked = entries.filter(({ remote }) => remote.up && remote.askedAt >= since);
      return asked.length > 0 && asked.every(({ remote }) => remote.isSlow(since, timeoutMs * SLOW_SHARE));
    },
    /** Asks the judges that may be asked now. */
    async probe(): Promise<JudgesState> {
      await probe(entries);
      return state();
    },
    state,
    has: (scheme: Scheme) => byScheme[scheme].length > 0,
    /** Our own addresses: those given, and those that the judges saw. */
    ownAddresses: () => own,
  };
}

/**
 * Knows which judges are reliable. Each is asked directly before its first use, and again if nothing else shows that it
 * works.
 */
export type Judges = ReturnType<typeof createJudges>;

function statesOf(judges: readonly Judge[]): RemoteState[] {
  return judges.map(({ remote }) => remote.state());
}

/** Asks a judge directly what it shows about us. */
async function askJudge(
  target: Target,
  { ask, randomToken, secrets }: Pick<JudgesOptions, 'ask' | 'randomToken' | 'secrets'>,
): Promise<Echo> {
  const token = target.scheme === 'https' ? null : randomToken();
  const { status, body, retryAfterMs } = await ask(target, pathWith(target, token ?? ''));
  if (status !== 200) throw new AskFault(`answered with status ${status}`, retryAfterMs);
  const echo = readEcho(body, token, secrets());
  if (echo === null) throw new Error('does not show the address of its client');
  if (token !== null && echo.headers === null) throw new Error('does not echo the request');
  return echo;
}

/** Any judge can prove that our own network works, so all judges together are asked this many times less often. */
const SHARE = 5;

/** Number of judges to try in turn before our own network counts as down. */
const TRIES = 3;

/**
 * Returns a function that reports whether our own network is known to have worked at `since` (monotonic) or
 * later. It asks the judges if necessary; an answer of any judge is enough.
 */
function createUplink(
  judges: readonly { readonly remote: Remote<unknown> }[],
  monotonic: () => number,
): (since: number) => Promise<boolean> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let question: Promise<void> | null = null;

  /** Asks the judge that may be asked soonest. All checks that doubt our network share the question. */
  function askAnyone(): Promise<void> {
    question ??= (async () => {
      const gapMs = Math.min(...judges.map(({ remote }) => remote.gapMs())) / SHARE;
      await pause(askedAt + gapMs - monotonic());
      askedAt = monotonic();
      question = null;
      const [soonest] = judges
        .filter(({ remote }) => remote.isSoon())
        .sort(
          (a, b) =>
            Number(b.remote.up) - Number(a.remote.up) ||
            a.remote.waitMs() - b.remote.waitMs() ||
            a.remote.askedAt - b.remote.askedAt,
        );
      await soonest?.remote.ask();
    })();
    return question;
  }

  const lastGood = () => Math.max(...judges.map(({ remote }) => remote.provenUpAt));

  return async (since) => {
    for (let n = 0; n < TRIES && lastGood() < since; n++) await askAnyone();
    return lastGood() >= since;
  };
}

/** How long unused capacity is kept. */
const BURST_MS = 10_000;

/** `perSecond` may be infinite. */
export function createRate(perSecond: number, monotonic: () => number) {
  const eachMs = 1000 / perSecond;
  let freeAt = Number.NEGATIVE_INFINITY;
  return {
    /** Ms until there is capacity again; 0 or less means now. */
    waitMs: () => freeAt - monotonic(),
    /** Counts one request. An overdraft makes later requests wait. */
    spend(): void {
      freeAt = Math.max(freeAt, monotonic() - BURST_MS) + eachMs;
    },
  };
}

/** Limits the average rate of requests to one host. */
type Rate = ReturnType<typeof createRate>;
