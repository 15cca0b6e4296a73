import { Draw } from './draw.ts';
import type { Failure, Kind, Upstream } from './upstream.ts';

/** An upstream as one kind of traffic knows it. Counts fade, so that the last dozen of results matter. */
export interface Member {
  upstream: Upstream;
  good: number;
  bad: number;
  /** Fading mean of the time to an answer, in ms. */
  latencyMs: number;
  /** Connections that it carries or is tried for. */
  busy: number;
  /** Failures since it last worked. */
  failures: number;
  ejections: number;
  /** Until when it is left out, on the clock of the lane. */
  ejectedUntil: number;
}

export interface LaneOptions {
  kind: Kind;
  /** 0 to 1. */
  random: () => number;
  /** A clock in ms that never goes back. */
  monotonic: () => number;
}

/** With so many that have shown that they work, nobody else needs to be tried first. */
const ENOUGH = 32;
/** Up to so many, others are tried now and then, so that the work is spread. */
const PLENTY = 256;
/** How often someone unknown is tried while there are not plenty: as an extra, which costs the client no time. */
const EXPLORE = 1 / 16;
/** What each result leaves of the ones before. */
const FADING = 0.9;
/** Weight of the prior, as a number of results. */
const PRIOR_WEIGHT = 2;
const UNKNOWN_LATENCY_MS = 1_000;
/** Failures in a row after which a trusted one is ejected, as it may have been bad luck. */
const PATIENCE = 3;
const EJECTION = { firstMs: 30_000, mostMs: 10 * 60_000 } as const;
/** Draws before an unsuitable pick is given up. */
const DRAWS = 8;
/** So many are compared if it is known who reaches the target; else two. */
const COMPARED = 6;

/** What a choice should look at besides. */
export interface Leaning {
  /** Someone untried first. */
  unknown?: boolean;
  /** The chance, 0 to 1, that a member reaches the target; more are compared by it than by speed alone. */
  chance?: ((member: Member) => number) | undefined;
}

/** Whom a choice must not fall on, or must fall on. */
export type Suits = (upstream: Upstream, kind: Kind) => boolean;

/**
 * All upstreams that carry one kind of traffic, and what that traffic has shown. Those that worked lately are `trusted`;
 * `untried` ones have not been heard of; the rest sits out its ejection, which grows with each one. When nobody else is left,
 * the ejected are tried all the same.
 */
export class Lane {
  readonly members = new Map<string, Member>();
  readonly #trusted: Draw<Member>;
  readonly #untried: Draw<Member>;
  readonly #ejected: Draw<Member>;
  readonly #options: LaneOptions;
  /** Trusted ones that were ejected since anything worked: when all fail at once, the fault is ours. */
  #suspects: Member[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#trusted = new Draw(options.random);
    this.#untried = new Draw(options.random);
    this.#ejected = new Draw(options.random);
  }

  /** True once enough upstreams have shown that they work, so that one at a time will do. */
  get learned(): boolean {
    return this.#trusted.size >= ENOUGH;
  }

  /** True if any proxy is suitable, in whatever state. */
  has(suits: Suits): boolean {
    for (const { upstream } of this.members.values()) if (suits(upstream, this.#options.kind)) return true;
    return false;
  }

  /** True for an upstream that has worked lately. */
  trusts(upstream: Upstream): boolean {
    const member = this.members.get(upstream.key);
    return member !== undefined && this.#trusted.has(member);
  }

  /** True when a request should try someone unknown besides. */
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
   * Whom to try next: of two that are drawn among the trusted the better one, else among the untried. `unknown` asks for an
   * untried one first. `undefined` when nobody suits.
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
    // What cannot get better by trying again is ejected at once.
    const hopeless = why === 'auth_required' || why === 'page' || why === 'distrusted';
    const wasTrusted = this.#trusted.has(member);
    if (wasTrusted && !hopeless && member.failures < PATIENCE && this.score(member) > 0.5) return;
    // Never more than half of those that have worked: then it is rather our network or the target.
    if (wasTrusted && !hopeless && this.#suspects.length >= Math.max(4, this.#trusted.size)) {
      this.#blameOurselves();
      return;
    }
    if (wasTrusted && !hopeless) this.#suspects.push(member);
    this.#eject(member);
  }

  /** Someone else was faster. It is held against those that had had enough time. */
  outrun(member: Member, waitedMs: number, usualMs: number): void {
    if (waitedMs < usualMs) return;
    if (this.#trusted.has(member)) member.bad = member.bad * FADING + 0.3;
    else this.#eject(member);
  }

  /** Estimated share of attempts that succeed. */
  score({ upstream, good, bad }: Member): number {
    return (good + PRIOR_WEIGHT * upstream.prior) / (good + bad + PRIOR_WEIGHT);
  }

  /** The one that promises most of some that are drawn. */
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

  /** Expected time to an answer, roughly. */
  #cost({ latencyMs, busy }: Member, chance: number): number {
    return ((latencyMs + 50) * (1 + busy)) / Math.max(0.001, chance) ** 2;
  }

  #eject(member: Member): void {
    const { firstMs, mostMs } = EJECTION;
    member.ejections++;
    member.ejectedUntil = this.#options.monotonic() + Math.min(mostMs, firstMs * member.ejections);
    this.#move(member, this.#ejected);
  }

  /** Lets those whose ejection is over be tried again. */
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
