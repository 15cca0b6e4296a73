import { canonicalAddress, isGloballyRoutable } from '../../lib/address.ts';
import type { Log } from '../../lib/logger.ts';
import { type Echo, readEcho } from './echo.ts';
import { type JudgeTarget, judgeTarget, sentHeaders } from './exchange.ts';
import type { HttpAnswer } from './http.ts';

/** Least time between two direct questions to one judge while checks keep failing. */
const PROBE_GAP_MS = 250;

/** How long a judge that failed is left out while another of its scheme works. */
const LEFT_OUT_MS = 30_000;

/** Least time between two questions to the judges of a scheme of which none works. */
const NONE_UP_GAP_MS = 1_000;

/** Age at which a good direct answer is renewed: our own address may have changed. */
const BASELINE_MS = 5 * 60_000;

/** How long a judge's address is believed. */
const RESOLVED_MS = 10 * 60_000;

export interface JudgeState {
  /** `unknown` before the first probe; `up` when at least one judge answers directly. */
  state: 'unknown' | 'up' | 'down';
  judges: {
    url: string;
    up: boolean;
    error: string | null;
    latencyMs: number | null;
    /** Ms since 1970. */
    checkedAt: number | null;
  }[];
}

/** A judge and what is known about it. */
export interface Judge {
  readonly url: string;
  /** With the address, once it was resolved. */
  target: JudgeTarget;
  /** The headers that it is sent besides the token. */
  readonly sent: Readonly<Record<string, string>>;
  /** Its latest good direct answer; the client's address in it is our own. */
  direct: Echo | null;
  up: boolean;
}

interface Entry extends Judge {
  error: string | null;
  latencyMs: number | null;
  checkedAt: number | null;
  resolvedAt: number;
  /** When the latest direct question began; on the monotonic clock, as the rest. */
  probedAt: number;
  /** Begin of the latest exchange, direct or through a proxy, that the judge answered well. */
  provenUpAt: number;
  running: Promise<void> | null;
  next: Promise<void> | null;
}

export interface JudgesOptions {
  urls: readonly string[];
  allowPrivate: boolean;
  /** Addresses of this machine that are known already. */
  ownAddresses: readonly string[];
  /** All addresses of a name. */
  resolve: (host: string) => Promise<readonly string[]>;
  /** Asks the judge without a proxy; rejects when that fails. */
  ask: (target: JudgeTarget, token: string) => Promise<HttpAnswer>;
  randomToken: () => string;
  secret: string | undefined;
  now: () => number;
  monotonic: () => number;
  log: Log;
}

/** Knows which judges can be relied on: each is asked directly before, and again when a check through it fails. */
export interface Judges {
  /** The next judge of the scheme that is known to work, or `null`. Old knowledge is renewed in the background. */
  next(scheme: 'http' | 'https'): Judge | null;
  /** The same, after asking the judges where none is known to work. */
  find(scheme: 'http' | 'https'): Promise<Judge | null>;
  /** True when the judge is known to have worked at `since` (monotonic) or later; asks it if need be. */
  confirm(judge: Judge, since: number): Promise<boolean>;
  /** Notes that an exchange that began at `at` (monotonic) was answered well. */
  witness(judge: Judge, at: number): void;
  probe(): Promise<JudgeState>;
  state(): JudgeState;
  has(scheme: 'http' | 'https'): boolean;
  /** Our own addresses: those that were given, and as the judges saw us. */
  ownAddresses(): ReadonlySet<string>;
}

export function createJudges(options: JudgesOptions): Judges {
  const { allowPrivate, ownAddresses, resolve, ask, randomToken, secret, now, monotonic, log } = options;
  const entries = options.urls.map((url): Entry => {
    const target = judgeTarget(url);
    return {
      url,
      target,
      sent: sentHeaders(target),
      direct: null,
      up: false,
      error: null,
      latencyMs: null,
      checkedAt: null,
      resolvedAt: Number.NEGATIVE_INFINITY,
      probedAt: Number.NEGATIVE_INFINITY,
      provenUpAt: Number.NEGATIVE_INFINITY,
      running: null,
      next: null,
    };
  });
  const byScheme = {
    http: entries.filter(({ target }) => target.scheme === 'http'),
    https: entries.filter(({ target }) => target.scheme === 'https'),
  };
  let own: ReadonlySet<string> = new Set(ownAddresses);
  let turn = 0;

  async function resolveTarget(entry: Entry): Promise<void> {
    if (entry.target.address !== null && monotonic() - entry.resolvedAt < RESOLVED_MS) return;
    const literal = canonicalAddress(entry.target.host);
    const found = literal === null ? await resolve(entry.target.host) : [literal];
    const usable = found
      .map(canonicalAddress)
      .filter((address) => address !== null && (allowPrivate || isGloballyRoutable(address)));
    // IPv4 first: SOCKS4 knows nothing else.
    const address = usable.find((candidate) => !candidate?.includes(':')) ?? usable[0];
    if (address === undefined) throw new Error('has no address that may be dialled');
    entry.target = { ...entry.target, address };
    entry.resolvedAt = monotonic();
  }

  async function askOnce(entry: Entry): Promise<void> {
    const startedAt = monotonic();
    entry.probedAt = startedAt;
    const wasUp = entry.up;
    try {
      await resolveTarget(entry);
      const token = randomToken();
      const answer = await ask(entry.target, token);
      if (answer.status !== 200) throw new Error(`answered with status ${answer.status}`);
      const direct = readEcho(answer.body, token, secret);
      if (direct === null) throw new Error('does not echo the request');
      Object.assign(entry, { direct, up: true, error: null, latencyMs: Math.round(monotonic() - startedAt) });
      entry.provenUpAt = Math.max(entry.provenUpAt, startedAt);
      own = new Set([...ownAddresses, ...entries.flatMap((one) => one.direct?.address ?? [])]);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      Object.assign(entry, {
        up: false,
        error: message,
        latencyMs: null,
        resolvedAt: Number.NEGATIVE_INFINITY,
      });
      if (wasUp || entry.checkedAt === null)
        log('warn', 'judge is down', { judge: entry.url, error: message });
    }
    if (!wasUp && entry.up) log('info', 'judge is up', { judge: entry.url, latencyMs: entry.latencyMs });
    entry.checkedAt = now();
  }

  /** A question that begins after this call. All who wait for one share it. */
  function nextProbe(entry: Entry): Promise<void> {
    entry.next ??= (async () => {
      await entry.running;
      const gap = entry.probedAt + PROBE_GAP_MS - monotonic();
      if (gap > 0) await new Promise((done) => setTimeout(done, gap));
      entry.next = null;
      entry.running = askOnce(entry);
      await entry.running;
      entry.running = null;
    })();
    return entry.next;
  }

  /** The next one in turn that is up. */
  function nextUp(fitting: Entry[]): Entry | null {
    for (let n = 0; n < fitting.length; n++) {
      const entry = fitting[turn++ % fitting.length];
      if (entry?.up) return entry;
    }
    return null;
  }

  function next(scheme: 'http' | 'https'): Judge | null {
    const fitting = byScheme[scheme];
    const found = nextUp(fitting);
    const now = monotonic();
    for (const entry of fitting) {
      const due = entry.up ? BASELINE_MS : found === null ? NONE_UP_GAP_MS : LEFT_OUT_MS;
      if (now - entry.probedAt >= due && !entry.next && !entry.running) void nextProbe(entry);
    }
    return found;
  }

  /** Resolves as soon as one of them, which are being asked, is up, or all have failed. */
  async function firstUp(asked: Entry[]): Promise<void> {
    const hopes = asked.map(async (entry) => {
      await (entry.next ?? entry.running);
      if (!entry.up) throw new Error('down');
    });
    await Promise.any(hopes).catch(() => {});
  }

  function state(): JudgeState {
    const asked = entries.some(({ checkedAt }) => checkedAt !== null);
    const up = entries.some((entry) => entry.up);
    return {
      state: up ? 'up' : asked ? 'down' : 'unknown',
      judges: entries.map(({ url, up, error, latencyMs, checkedAt }) => ({
        url,
        up,
        error,
        latencyMs,
        checkedAt,
      })),
    };
  }

  return {
    next,
    async find(scheme) {
      const known = next(scheme);
      if (known !== null) return known;
      await firstUp(byScheme[scheme].filter((entry) => entry.next || entry.running));
      return nextUp(byScheme[scheme]);
    },
    async confirm(judge, since) {
      const entry = entries.find((candidate) => candidate === judge);
      if (entry === undefined) return false;
      if (entry.provenUpAt < since) await nextProbe(entry);
      return entry.provenUpAt >= since;
    },
    witness(judge, at) {
      for (const entry of entries) {
        if (entry === judge) entry.provenUpAt = Math.max(entry.provenUpAt, at);
      }
    },
    async probe() {
      await Promise.all(entries.map(nextProbe));
      return state();
    },
    state,
    has: (scheme) => byScheme[scheme].length > 0,
    ownAddresses: () => own,
  };
}
