import { Draw } from './draw.ts';
import type { Failure, Kind, Upstream } from './upstream.ts';

/** An upstream, with the results for one kind of traffic. Counts fade, so that the last dozen results matter. */
export interface Member {
  upstream: Upstream;
  good: number;
  bad: number;
  /** Fading mean of the time to an answer, in ms. */
  latencyMs: number;
  /** Number of its connections and attempts. */
  busy: number;
  /** Failures since it last worked. */
  failures: number;
  ejections: number;
  /** Until when it is left out, on the clock of the lane. */
  ejectedUntil: number;
}

interface LaneOptions {
  kind: Kind;
  /** 0 to 1. */
  random: () => number;
  /** A monotonic clock in ms. */
  monotonic: () => number;
}

/** With this many upstreams that are known to work, no other one is tried first. */
const ENOUGH = 32;
/** Below this number, others are tried now and then, to spread the load. */
const PLENTY = 256;
/** How often an unknown upstream is tried while there are fewer: in addition, so that it costs the client no time. */
const EXPLORE = 1 / 16;
/** Factor by which each result fades the older ones. */
const FADING = 0.9;
/** Weight of the prior, as a number of results. */
const PRIOR_WEIGHT = 2;
const UNKNOWN_LATENCY_MS = 1_000;
/** A trusted upstream is ejected after this many failures in a row, because fewer may be bad luck. */
const PATIENCE = 3;
const EJECTION = { firstMs: 30_000, mostMs: 10 * 60_000 } as const;
/** Number of draws before no suitable upstream is assumed. */
const DRAWS = 8;
/** Number of candidates compared if it is known who reaches the target, otherwise two. */
const COMPARED = 6;

/** What else a choice should consider. */
interface Leaning {
  /** Prefer an untried upstream. */
  unknown?: boolean;
  /**
   * Returns the chance, 0 to 1, that a member reaches the target. More candidates are compared by it than by speed
   * alone.
   */
  chance?: ((member: Member) => number) | undefined;
}

/** Decides which upstreams may be chosen. */
export type Suits = (upstream: Upstream, kind: Kind) => boolean;

/**
 * All upstreams that carry one kind of traffic, and the results of that traffic. Those that worked recently are
 * `trusted`; `untried` ones have no results; the rest are ejected, for longer each time. If no others are left,
 * ejected upstreams are tried anyway.
 */
export class Lane {
  readonly members = new Map<string, Member>();
  readonly #trusted: Draw<Member>;
  readonly #untried: Draw<Member>;
  readonly #ejected: Draw<Member>;
  readonly #options: LaneOptions;
  /** Trusted upstreams that were ejected since anything worked: if all fail at once, the fault is ours. */
  #suspects: Member[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#trusted = new Draw(options.random);
    this.#untried = new Draw(options.random);
    this.#ejected = new Draw(options.random);
  }

  /** True once enough upstreams are known to work, so that trying one at a time is enough. */
  get learned(): boolean {
    return this.#trusted.size >= ENOUGH;
  }

  /** Reports whether any upstream is suitable, in whatever state. */
  has(suits: Suits): boolean {
    for (const { upstream } of this.members.values()) if (suits(upstream, this.#options.kind)) return true;
    return false;
  }

  /** Reports whether an upstream has worked recently. */
  trusts(upstream: Upstream): boolean {
    const member = this.members.get(upstream.key);
    return member !== undefined && this.#trusted.has(member);
  }

  /** True if a request should also try an unknown upstream. */
  get explores(): boolean {
    return this.#untried.size > 0 && this.#trusted.size < PLENTY && this.#options.random() < EXPLORE;
  }

  sizes(): { trusted: number; untried: number; ejected: number } {
    return { trusted: this.#trusted.size, untried: this.#untried.size, ejected: this.#ejected.size };
  }

  /** Adds an upstream, or replaces what is known about it. */
  set(upstream: Upstream): void {
    const known = this.members.get(upstream.key);
    if (known) {
      known.upstream = upstream;
      return;
    }
    const member: Member = {
      upstream,
      good: 0,
      bad: 0,
      latencyMs: upstream.latencyMs ?? UNKNOWN_LATENCY_MS,
      busy: 0,
      failures: 0,
      ejections: 0,
      ejectedUntil: 0,
    };
    this.members.set(upstream.key, member);
    this.#untried.add(member);
  }

  delete(key: string): void {
    const member = this.members.get(key);
    if (!member) return;
    this.members.delete(key);
    for (const set of [this.#trusted, this.#untried, this.#ejected]) set.delete(member);
  }

  /**
   * Returns the next upstream to try: the better of two random trusted ones, otherwise an untried one. `unknown`
   * prefers an untried one. Returns `undefined` if none is suitable.
   */
  choose(suits: Suits, { unknown = false, chance }: Leaning = {}): Member | undefined {
    const order = unknown ? [this.#untried, this.#trusted] : [this.#trusted, this.#untried];
    for (const set of order) {
      const found = this.#best(set, suits, chance);
      if (found) return found;
    }
    this.#readmit();
    return this.#best(this.#untried, suits, chance) ?? this.#best(this.#ejected, suits, chance);
  }

  succeeded(member: Member, latencyMs: number): void {
    member.good = member.good * FADING + 1;
    member.bad *= FADING;
    member.latencyMs = member.latencyMs * 0.7 + latencyMs * 0.3;
    member.failures = 0;
    member.ejections = 0;
    this.#suspects = [];
    this.#move(member, this.#trusted);
  }

  failed(member: Member, why: Failure): void {
    member.bad = member.bad * FADING + 1;
    member.good *= FADING;
    member.failures++;
    // If another try cannot help, it is ejected at once.
    const hopeless = why === 'auth_required' || why === 'page' || why === 'distrusted';
    const wasTrusted = this.#trusted.has(member);
    if (wasTrusted && !hopeless && member.failures < PATIENCE && this.score(member) > 0.5) return;
    // Never eject more than half of those that have worked: the fault is then probably in our network or the target.
    if (wasTrusted && !hopeless && this.#suspects.length >= Math.max(4, this.#trusted.size)) {
      this.#blameOurselves();
      return;
    }
    if (wasTrusted && !hopeless) this.#suspects.push(member);
    this.#eject(member);
  }

  /** Records that another upstream was faster. It counts only against upstreams that had enough time. */
  outrun(member: Member, waitedMs: number, usualMs: number): void {
    if (waitedMs < usualMs) return;
    if (this.#trusted.has(member)) member.bad = member.bad * FADING + 0.3;
    else this.#eject(member);
  }

  /** Returns the estimated share of successful attempts. */
  score({ upstream, good, bad }: Member): number {
    return (good + PRIOR_WEIGHT * upstream.prior) / (good + bad + PRIOR_WEIGHT);
  }

  /** Returns the most promising of some random members. */
  #best(set: Draw<Member>, suits: Suits, chance: Leaning['chance']): Member | undefined {
    let best: Member | undefined;
    let least = Number.POSITIVE_INFINITY;
    const draws = Math.min(set.size, chance ? COMPARED : 2);
    for (let draw = 0; draw < draws; draw++) {
      const member = this.#draw(set, suits);
      if (!member) return best;
      const cost = this.#cost(member, chance?.(member) ?? this.score(member));
      if (cost >= least) continue;
      best = member;
      least = cost;
    }
    return best;
  }

  #draw(set: Draw<Member>, suits: Suits): Member | undefined {
    const { kind } = this.#options;
    for (let draw = 0; draw < DRAWS; draw++) {
      const member = set.any();
      if (!member) return undefined;
      if (suits(member.upstream, kind)) return member;
    }
    for (const member of set) {
      if (suits(member.upstream, kind)) return member;
    }
    return undefined;
  }

  /** Returns the expected time to an answer, roughly. */
  #cost({ latencyMs, busy }: Member, chance: number): number {
    return ((latencyMs + 50) * (1 + busy)) / Math.max(0.001, chance) ** 2;
  }

  #eject(member: Member): void {
    const { firstMs, mostMs } = EJECTION;
    member.ejections++;
    member.ejectedUntil = this.#options.monotonic() + Math.min(mostMs, firstMs * member.ejections);
    this.#move(member, this.#ejected);
  }

  /** Readmits upstreams whose ejection is over. */
  #readmit(): void {
    const now = this.#options.monotonic();
    for (const member of [...this.#ejected]) {
      if (member.ejectedUntil <= now) this.#move(member, this.#untried);
    }
  }

  #blameOurselves(): void {
    for (const member of this.#suspects) {
      member.ejections = 0;
      member.failures = 0;
      this.#move(member, this.#trusted);
    }
    this.#suspects = [];
  }

  #move(member: Member, to: Draw<Member>): void {
    if (!this.members.has(member.upstream.key)) return;
    for (const set of [this.#trusted, this.#untried, this.#ejected]) {
      if (set !== to) set.delete(member);
    }
    to.add(member);
  }
}
