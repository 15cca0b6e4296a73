import type { Log } from '../../lib/logger.ts';
import { type Echo, readEcho } from './echo.ts';
import { pathWith, sentHeaders, type Target } from './exchange.ts';
import type { HttpAnswer } from './http.ts';
import { createRate, type Rate } from './rate.ts';
import { AskFault, createRemote, type Remote, type RemoteState } from './remote.ts';

/** How long a judge that failed is left out while another of its scheme works. */
const LEFT_OUT_MS = 5 * 60_000;

/** Age at which a good direct answer is renewed: our own address may have changed. */
const BASELINE_MS = 5 * 60_000;

/** Who asks whether our own network works is content with any judge, so that all together are asked this much less often. */
const UPLINK_SHARE = 5;

/** Who has to wait for a question longer than this times the gap between two does without the answer. */
const PATIENCE = 1.5;

/** An answer to a direct question is slow from this share of the time limit of checks on. */
const SLOW_SHARE = 1 / 8;

/** Judges that are asked in turn before our own network counts as down. */
const UPLINK_TRIES = 3;

export type Scheme = 'http' | 'https';
export const SCHEMES: readonly Scheme[] = ['http', 'https'];

/** `none`: there is no judge of the kind; `unknown` before the first question; `up` when at least one answers. */
export type SchemeState = 'none' | 'unknown' | 'up' | 'down';

/** What is known of the judges. */
export interface JudgesState {
  /** Of all together. */
  state: 'unknown' | 'up' | 'down';
  schemes: Record<Scheme, SchemeState>;
  judges: RemoteState[];
}

/** A judge and what is known about it. */
export interface Judge {
  readonly scheme: Scheme;
  readonly host: string;
  readonly remote: Remote<Echo>;
  /** The headers that it is sent. */
  readonly sent: Readonly<Record<string, string>>;
}

export interface JudgesOptions {
  urls: readonly string[];
  /** Most answers a second through proxies that one judge has to give, on average; as many as there are when not given. */
  maxPerSecond?: number | undefined;
  questionGapMs?: number | undefined;
  allowPrivate: boolean;
  /** Addresses of this machine that are known already. */
  ownAddresses: readonly string[];
  resolve: (host: string) => Promise<readonly string[]>;
  /** Asks for a path without a proxy; rejects when that fails. */
  ask: (target: Target, path: string) => Promise<HttpAnswer>;
  randomToken: () => string;
  secrets: () => readonly string[];
  watch: () => () => boolean;
  now: () => number;
  monotonic: () => number;
  log: Log;
}

/** Knows which judges can be relied on: each is asked directly before, and again when nothing else tells whether it works. */
export interface Judges {
  /**
   * The next judge of the scheme that is known to work, on another host than `avoid`, or `null`. Where our own judge of plain
   * HTTP works, it alone. Old knowledge is renewed in the background.
   */
  next(scheme: Scheme, avoid?: string): Judge | null;
  /** The same, after asking the judges where none is known to work, or waiting where all have enough to do. */
  find(scheme: Scheme, avoid?: string): Promise<Judge | null>;
  /** True when the judge is known to have worked at `since` (monotonic) or later; asks it where that is possible soon. */
  confirm(judge: Judge, since: number): Promise<boolean>;
  /** The same of our own network, for which any judge's word will do. */
  confirmUplink(since: number): Promise<boolean>;
  /** Notes that an exchange through a proxy that began at `at` (monotonic) was answered well. */
  accepted(judge: Judge, at: number): void;
  /** Direct answers since then (monotonic) were slow, so that checks within the time limit may have been, too. */
  isSlow(since: number, timeoutMs: number): boolean;
  /** Asks those that may be asked now. */
  probe(): Promise<JudgesState>;
  state(): JudgesState;
  has(scheme: Scheme): boolean;
  /** Our own addresses: those that were given, and as the judges saw us. */
  ownAddresses(): ReadonlySet<string>;
}

interface Entry extends Judge {
  rate: Rate;
}

export function createJudges(options: JudgesOptions): Judges {
  const { ownAddresses, ask, randomToken, secrets, monotonic } = options;
  const entries = options.urls.map((url): Entry => {
    const remote = createRemote<Echo>({ ...remoteOptions(options), url, question: askJudge, onAnswer });
    const { scheme, host } = remote.target;
    const rate = createRate(options.maxPerSecond ?? Number.POSITIVE_INFINITY, monotonic);
    return { scheme, host, remote, sent: sentHeaders(remote.target), rate };
  });
  const byScheme = {
    http: entries.filter(({ scheme }) => scheme === 'http'),
    https: entries.filter(({ scheme }) => scheme === 'https'),
  };
  let own: ReadonlySet<string> = new Set(ownAddresses);
  let turn = 0;

  async function askJudge(target: Target): Promise<Echo> {
    const token = target.scheme === 'https' ? null : randomToken();
    const { status, body, retryAfterMs } = await ask(target, pathWith(target, token ?? ''));
    if (status !== 200) throw new AskFault(`answered with status ${status}`, retryAfterMs);
    const echo = readEcho(body, token, secrets());
    if (echo === null) throw new Error('does not show who asks');
    if (token !== null && echo.headers === null) throw new Error('does not echo the request');
    return echo;
  }

  function onAnswer(): void {
    own = new Set([...ownAddresses, ...entries.flatMap(({ remote }) => remote.said?.address ?? [])]);
  }

  /** The best there are of those that answer: our own of plain HTTP, then those that are not left out. */
  function usable(scheme: Scheme, avoid: string | undefined): Entry[] {
    let found: Entry[] = [];
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

  /** Asks again what was not asked for long, in the background. */
  function renew(scheme: Scheme): void {
    const found = byScheme[scheme].some(({ remote }) => remote.up);
    const now = monotonic();
    for (const { remote } of byScheme[scheme]) {
      const dueMs = remote.up ? BASELINE_MS : found ? LEFT_OUT_MS : 0;
      if (now - remote.askedAt >= dueMs && remote.waitMs() === 0 && !remote.isBusy()) void remote.ask();
    }
  }

  function next(scheme: Scheme, avoid?: string): Judge | null {
    renew(scheme);
    const fitting = usable(scheme, avoid);
    for (let n = 0; n < fitting.length; n++) {
      const entry = fitting[turn++ % fitting.length];
      if (entry && entry.rate.waitMs() <= 0) return entry;
    }
    return null;
  }

  async function find(scheme: Scheme, avoid?: string): Promise<Judge | null> {
    for (;;) {
      const known = next(scheme, avoid);
      if (known !== null) return known;
      const busy = usable(scheme, avoid).map(({ rate }) => rate.waitMs());
      if (busy.length === 0) break;
      await pause(Math.min(...busy));
    }
    const asked = byScheme[scheme].filter(({ remote, host }) => remote.isBusy() && host !== avoid);
    await firstUp(asked);
    return next(scheme, avoid);
  }

  /** Resolves as soon as one of them, which are being asked, is up, or all have failed. */
  async function firstUp(asked: Entry[]): Promise<void> {
    const hopes = asked.map(async ({ remote }) => {
      await remote.settled();
      if (!remote.up) throw new Error('down');
    });
    await Promise.any(hopes).catch(() => {});
  }

  let uplinkAskedAt = Number.NEGATIVE_INFINITY;
  let uplinkQuestion: Promise<void> | null = null;

  /** A question to the judge that may be asked soonest; all who doubt our network at the time share it. */
  function askAnyone(): Promise<void> {
    uplinkQuestion ??= (async () => {
      const gapMs = Math.min(...entries.map(({ remote }) => remote.gapMs())) / UPLINK_SHARE;
      await pause(uplinkAskedAt + gapMs - monotonic());
      uplinkAskedAt = monotonic();
      uplinkQuestion = null;
      const [soonest] = entries
        .filter(({ remote }) => isSoon(remote))
        .sort(
          (a, b) =>
            Number(b.remote.up) - Number(a.remote.up) ||
            a.remote.waitMs() - b.remote.waitMs() ||
            a.remote.askedAt - b.remote.askedAt,
        );
      await soonest?.remote.ask();
    })();
    return uplinkQuestion;
  }

  const lastGood = () => Math.max(...entries.map(({ remote }) => remote.provenUpAt));

  async function confirmUplink(since: number): Promise<boolean> {
    for (let n = 0; n < UPLINK_TRIES && lastGood() < since; n++) await askAnyone();
    return lastGood() >= since;
  }

  function state(): JudgesState {
    const judges = entries.map(({ remote }) => remote.state());
    const states = judges.map((judge, n) => ({ ...judge, scheme: entries[n]?.scheme }));
    const stateOf = (some: RemoteState[]) =>
      some.some(({ up }) => up)
        ? 'up'
        : some.some(({ checkedAt }) => checkedAt !== null)
          ? 'down'
          : 'unknown';
    const ofScheme = (scheme: Scheme): SchemeState =>
      byScheme[scheme].length === 0 ? 'none' : stateOf(states.filter((one) => one.scheme === scheme));
    return {
      state: stateOf(judges),
      schemes: { http: ofScheme('http'), https: ofScheme('https') },
      judges,
    };
  }

  return {
    next,
    find,
    async confirm({ remote }, since) {
      if (remote.provenUpAt < since && isSoon(remote)) await remote.ask();
      return remote.provenUpAt >= since;
    },
    confirmUplink,
    accepted(judge, at) {
      const entry = entries.find((candidate) => candidate === judge);
      entry?.rate.spend();
      judge.remote.accepted(at);
    },
    isSlow: (since, timeoutMs) => {
      const asked = entries.filter(({ remote }) => remote.up && remote.askedAt >= since);
      return asked.length > 0 && asked.every(({ remote }) => remote.isSlow(since, timeoutMs * SLOW_SHARE));
    },
    async probe() {
      const asked = entries.map(({ remote }) =>
        remote.waitMs() === 0 && !remote.isBusy() ? remote.ask() : remote.settled(),
      );
      await Promise.all(asked);
      return state();
    },
    state,
    has: (scheme) => byScheme[scheme].length > 0,
    ownAddresses: () => own,
  };
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((done) => setTimeout(done, ms));
}

/** Whether a question may begin soon enough to wait for its answer. */
export function isSoon(remote: Remote<unknown>): boolean {
  return remote.waitMs() <= remote.gapMs() * PATIENCE;
}

export type RemotesOptions = Pick<
  JudgesOptions,
  'allowPrivate' | 'questionGapMs' | 'resolve' | 'watch' | 'now' | 'monotonic' | 'log'
>;

/** What judges and witnesses have in common. */
export function remoteOptions({
  allowPrivate,
  questionGapMs,
  resolve,
  watch,
  now,
  monotonic,
  log,
}: RemotesOptions) {
  return { kind: 'judge', allowPrivate, questionGapMs, resolve, watch, now, monotonic, log } as const;
}
