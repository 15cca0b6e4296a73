import { setTimeout } from 'node:timers/promises';
import { canonicalAddress, isGloballyRoutable } from '../../lib/address.ts';
import type { Log } from '../../lib/logger.ts';
import { type Target, targetOf } from './exchange.ts';

/** How long a resolved address is used. */
const RESOLVED_MS = 10 * 60_000;

/** An answer that takes this many times the fastest one means that the way to the host is congested. */
const SLOW_FACTOR = 4;

/** The state of a judge or a witness, as the API shows it. */
export interface RemoteState {
  url: string;
  /** True if it answered the last direct question. */
  up: boolean;
  /** True if it is unused for now because it refuses proxies that others accept. */
  leftOut: boolean;
  error: string | null;
  latencyMs: number | null;
  /** Ms since 1970. */
  checkedAt: number | null;
}

/** The failure of a direct question that says when to try again. */
export class AskFault extends Error {
  readonly retryAfterMs: number | null;
  constructor(message: string, retryAfterMs: number | null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface RemoteOptions<T> {
  /** For the log. */
  kind: 'judge' | 'witness';
  url: string;
  allowPrivate: boolean;
  /** Minimum time between two direct questions. Default: depends on the address. */
  questionGapMs?: number | undefined;
  /** Resolves a name to all its addresses. */
  resolve: (host: string) => Promise<readonly string[]>;
  /** Asks the host directly; rejects if that fails. `before`: its last answer. */
  question: (target: Target, before: T | null) => Promise<T>;
  /** Called after each good answer. */
  onAnswer?: () => void;
  /** Starts to watch for an overload of this machine. The returned function reports whether there was one. */
  watch: () => () => boolean;
  now: () => number;
  monotonic: () => number;
  log: Log;
}

export function createRemote<T>(options: RemoteOptions<T>) {
  const { kind, url, question, now, monotonic, log } = options;
  const politeness = createPoliteness(gapMs, monotonic);
  const standing = createStanding(monotonic, (forMs) =>
    log('warn', `${kind} refuses what others accept; not used`, { [kind]: url, minutes: forMs / 60_000 }),
  );
  const place = createPlace(options);
  let said: T | null = null;
  let up = false;
  let error: string | null = null;
  let latencyMs: number | null = null;
  let bestMs = Number.POSITIVE_INFINITY;
  let checkedAt: number | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  let provenUpAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  function gapMs(): number {
    if (options.questionGapMs !== undefined) return options.questionGapMs;
    const home = place.target.address !== null && !isGloballyRoutable(place.target.address);
    return home ? HOME_GAP_MS : QUESTION_GAP_MS;
  }

  async function askOnce(): Promise<void> {
    const startedAt = monotonic();
    askedAt = startedAt;
    const wasUp = up;
    const wasStarved = options.watch();
    try {
      const target = await place.resolved();
      politeness.began();
      said = await question(target, said);
      politeness.answered();
      options.onAnswer?.();
      latencyMs = Math.round(monotonic() - startedAt);
      bestMs = Math.min(bestMs, latencyMs);
      up = true;
      error = null;
      provenUpAt = Math.max(provenUpAt, startedAt);
    } catch (fault) {
      politeness.failed(fault instanceof AskFault ? fault.retryAfterMs : null);
      // It may have answered while this machine was too busy to notice.
      if (wasUp && wasStarved()) return;
      error = fault instanceof Error ? fault.message : String(fault);
      up = false;
      latencyMs = null;
      place.doubt();
      if (wasUp || checkedAt === null) log('warn', `${kind} is down`, { [kind]: url, error });
    }
    if (!wasUp && up) log('info', `${kind} is up`, { [kind]: url, latencyMs });
    checkedAt = now();
  }

  return {
    url,
    standing,
    /** Includes the address once it is resolved. */
    get target(): Target {
      return place.target;
    },
    /** Its latest good direct answer. */
    get said(): T | null {
      return said;
    },
    get up(): boolean {
      return up;
    },
    /** When the latest direct question began. All times here are on the monotonic clock. */
    get askedAt(): number {
      return askedAt;
    },
    /** Start of the latest exchange, direct or through a proxy, with a good answer that only the host can give. */
    get provenUpAt(): number {
      return provenUpAt;
    },
    /**
     * Reports whether a direct question since then (monotonic) took longer than the limit, and far longer than the host
     * needs.
     */
    isSlow: (since: number, limitMs: number) =>
      askedAt >= since && latencyMs !== null && latencyMs > Math.max(limitMs, bestMs * SLOW_FACTOR),
    /** Ms until a direct question may begin, 0 if it may now. */
    waitMs: () => Math.max(0, politeness.waitMs()),
    /** Reports whether a question may begin soon enough to wait for its answer. */
    isSoon: politeness.isSoon,
    /** Ms between two direct questions while the host works. */
    gapMs,
    /** Reports whether a direct question is running or about to. */
    isBusy: () => running !== null || next !== null,
    /** Resolves when no direct question is running or about to. */
    async settled(): Promise<void> {
      await (next ?? running);
    },
    /**
     * Asks a direct question that begins after this call, unless politeness does not allow one soon. Concurrent callers
     * share it.
     */
    ask(): Promise<void> {
      next ??= (async () => {
        await running;
        // The question that ran may have ended with a request to wait for an hour.
        if (politeness.isSoon()) await pause(politeness.waitMs());
        next = null;
        if (!politeness.isSoon()) return;
        running = askOnce();
        await running;
        running = null;
      })();
      return next;
    },
    /** Records a good answer through a proxy. It proves that the host worked at `at`. */
    accepted(at: number): void {
      provenUpAt = Math.max(provenUpAt, at);
      standing.accepted();
    },
    state: () => ({ url, up, leftOut: standing.isLeftOut(), error, latencyMs, checkedAt }),
  };
}

/**
 * A judge or a witness that answers questions. Whether it works is found out by asking it directly, at polite
 * intervals.
 */
export type Remote<T> = ReturnType<typeof createRemote<T>>;

/** The address of the host. */
function createPlace({
  url,
  allowPrivate,
  resolve,
  monotonic,
}: Pick<RemoteOptions<unknown>, 'url' | 'allowPrivate' | 'resolve' | 'monotonic'>) {
  let target = targetOf(url);
  let resolvedAt = Number.NEGATIVE_INFINITY;

  return {
    /** Includes the address once it is resolved. */
    get target(): Target {
      return target;
    },
    /** Resolves with an address that may be dialled. Rejects if there is none. */
    async resolved(): Promise<Target> {
      if (target.address !== null && monotonic() - resolvedAt < RESOLVED_MS) return target;
      const literal = canonicalAddress(target.host);
      const found = literal === null ? await resolve(target.host) : [literal];
      const usable = found
        .map(canonicalAddress)
        .filter((address) => address !== null && (allowPrivate || isGloballyRoutable(address)));
      // IPv4 first, because SOCKS4 supports only that.
      const address = usable.find((candidate) => !candidate?.includes(':')) ?? usable[0];
      if (address === undefined) throw new Error('has no address that may be contacted');
      resolvedAt = monotonic();
      target = { ...target, address };
      return target;
    },
    /** Discards the resolved address. */
    doubt(): void {
      resolvedAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** A remote is left out once others have accepted this many proxies that it refused. */
const LEAST_OVERRULED = 5;
/** Beyond this count, old results fade. */
const MOST_COUNTED = 100;
const LEFT_OUT_MS = { first: 10 * 60_000, most: 2 * 3_600_000 } as const;

/**
 * Compares a judge or a witness with the others. It may answer us and still refuse proxies: each proxy that it refuses
 * and another one accepts counts against it.
 */
export function createStanding(monotonic: () => number, onLeftOut: (forMs: number) => void) {
  let accepted = 0;
  let overruled = 0;
  let pauseMs: number = LEFT_OUT_MS.first;
  let until = Number.NEGATIVE_INFINITY;

  function fade(): void {
    if (accepted + overruled < MOST_COUNTED) return;
    accepted /= 2;
    overruled /= 2;
  }

  return {
    accepted(): void {
      accepted++;
      // It has worked well since it was last left out.
      if (accepted > LEAST_OVERRULED) pauseMs = LEFT_OUT_MS.first;
      fade();
    },
    /** Records that it refused a proxy that another one accepted right after. */
    overruled(): void {
      overruled++;
      fade();
      if (overruled < LEAST_OVERRULED || overruled <= accepted) return;
      until = monotonic() + pauseMs;
      onLeftOut(pauseMs);
      pauseMs = Math.min(LEFT_OUT_MS.most, pauseMs * 2);
      accepted = 0;
      overruled = 0;
    },
    /** Reports whether it is unused for now because it refuses what others accept. */
    isLeftOut: () => monotonic() < until,
  };
}

/** Minimum time between two direct questions to one host. */
const QUESTION_GAP_MS = 5_000;

/** The same for a host whose address is in our own network. */
const HOME_GAP_MS = 250;

/** Interval of requests to a host that keeps failing. */
const LONGEST_GAP_MS = 60_000;

/**
 * A caller waits for a question at most this many times the gap between two. Otherwise it does without the answer.
 */
const PATIENCE = 1.5;

/**
 * Decides when a host may be asked directly: never in quick succession, less often while it fails, and not before the
 * time it asked for.
 */
export function createPoliteness(gapMs: () => number, monotonic: () => number) {
  let from = Number.NEGATIVE_INFINITY;
  let failures = 0;
  return {
    /** Ms until it may be asked again; 0 or less means now. */
    waitMs: () => from - monotonic(),
    /** Reports whether that is soon enough to wait for. */
    isSoon: () => from - monotonic() <= gapMs() * PATIENCE,
    began(): void {
      from = monotonic() + gapMs();
    },
    answered(): void {
      failures = 0;
    },
    /** `retryAfterMs`: how long the host asked us to wait. */
    failed(retryAfterMs: number | null): void {
      const pauseMs = Math.min(gapMs() * 2 ** failures++, LONGEST_GAP_MS);
      from = Math.max(from, monotonic() + Math.max(pauseMs, retryAfterMs ?? 0));
    },
  };
}

/** Waits as long as a `waitMs` says, not at all for 0 or less, or until the signal aborts. */
export async function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  if (waitMs > 0) await setTimeout(waitMs, undefined, { signal }).catch(() => {});
}
