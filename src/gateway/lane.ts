import { Draw } from './draw.ts';
import { Roster } from './roster.ts';
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
  /** The upstreams, which several lanes may share. Default: those that are set here. */
  roster?: Roster;
  /** Returns what several others have seen of an upstream. Default: nothing. */
  opinion?: (key: string) => Opinion | null;
}

/** What several users of the gateway have seen of an upstream. */
type Opinion = 'good' | 'bad';

/** With this many upstreams that are known to work, no other one is tried first. */
const ENOUGH = 32;
/** Below this number, others are tried now and then, to spread the load. */
const PLENTY = 256;
/** How often an unknown upstream is tried while there are fewer: in addition, so that it costs the client no time. */
const EXPLORE = 1 / 16;
/** Factor by which each result fades the older ones. */
const FADING = 0.9;
/** What the opinion of others makes of the prior. */
const OPINION_PRIOR: Record<Opinion, number> = { good: 0.9, bad: 0.02 };
/** Upstreams whose results are remembered. */
const MOST_KNOWN = 2_000;
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
  /** Reports whether an upstream should be taken only if no other one that works is left. */
  avoid?: Avoids | undefined;
}

/** Reports, by key, which upstreams are shut out while any other one works. */
export type Avoids = (key: string) => boolean;

/** Decides which upstreams may be chosen. */
export type Suits = (upstream: Upstream, kind: Kind) => boolean;

/**
 * All upstreams that carry one kind of traffic, and the results of one user's traffic. Those that worked recently are
 * `trusted`; `untried` ones have no results; the rest are ejected, for longer each time. If no others are left,
 * ejected upstreams are tried anyway.
 */
export class Lane {
  /** Those with results, and those that are being tried. */
  readonly #known = new Map<string, Member>();
  readonly #roster: Roster;
  readonly #trusted: Draw<Member>;
  readonly #ejected: Draw<Member>;
  readonly #options: LaneOptions;
  /** Trusted upstreams that were ejected since anything worked: if all fail at once, the fault is ours. */
  #suspects: Member[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#trusted = new Draw(options.random);
    this.#roster = options.roster ?? new Roster(options.random);
    this.#ejected = new Draw(options.random);
  }

  /** True once enough upstreams are known to work, so that trying one at a time is enough. */
  get learned(): boolean {
    return this.#trusted.size >= ENOUGH;
  }

  /** Reports whether any upstream is suitable, in whatever state. */
  has(suits: Suits): boolean {
    for (const upstream of this.#roster) if (suits(upstream, this.#options.kind)) return true;
    return false;
  }

  /** Reports whether an upstream has worked recently. */
  trusts(upstream: Upstream): boolean {
    const member = this.#known.get(upstream.key);
    return member !== undefined && this.#trusted.has(member);
  }

  /** True if a request should also try an unknown upstream. */
  get explores(): boolean {
    return this.#untriedSize > 0 && this.#trusted.size < PLENTY && this.#options.random() < EXPLORE;
  }

  sizes(): { trusted: number; untried: number; ejected: number } {
    return { trusted: this.#trusted.size, untried: this.#untriedSize, ejected: this.#ejected.size };
  }

  /** Adds an upstream, or replaces what is known about it. */
  set(upstream: Upstream): void {
    this.#roster.set(upstream);
  }

  delete(key: string): void {
    this.#roster.delete(key);
    const member = this.#known.get(key);
    if (member) this.#forget(member);
  }

  /** Reports whether there is such an upstream. */
  holds(key: string): boolean {
    return this.#roster.get(key) !== undefined;
  }

  /** Returns an upstream with its results, or `undefined` if there is no such upstream. */
  memberOf(key: string): Member | undefined {
    const upstream = this.#roster.get(key);
    if (upstream === undefined) return undefined;
    const member = this.#memberFor(upstream);
    this.#known.set(key, member);
    return member;
  }

  /**
   * Returns the next upstream to try: the better of two random trusted ones, otherwise an untried one. `unknown`
   * prefers an untried one. Returns `undefined` if none is suitable.
   */
  choose(suits: Suits, leaning: Leaning = {}): Member | undefined {
    const { avoid, ...others } = leaning;
    if (avoid) {
      const free = this.choose((upstream, kind) => !avoid(upstream.key) && suits(upstream, kind), others);
      if (free && !this.#ejected.has(free)) return free;
    }
    const { unknown = false, chance } = others;
    const trusted = () => this.#best(this.#trusted.size, () => this.#draw(this.#trusted, suits), chance);
    const untried = () => this.#best(this.#untriedSize, () => this.#drawUntried(suits), chance);
    let found = unknown ? (untried() ?? trusted()) : (trusted() ?? untried());
    if (!found) {
      this.#readmit();
      found = untried() ?? this.#best(this.#ejected.size, () => this.#draw(this.#ejected, suits), chance);
    }
    if (found) this.#remember(found);
    return found;
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

  /** Records that another upstream was faster, although this one had enough time. */
  outrun(member: Member): void {
    if (this.#trusted.has(member)) member.bad = member.bad * FADING + 0.3;
    else this.#eject(member);
  }

  /** Returns the estimated share of successful attempts. */
  score({ upstream, good, bad }: Member): number {
    const opinion = this.#options.opinion?.(upstream.key) ?? null;
    const prior = opinion === null ? upstream.prior : OPINION_PRIOR[opinion];
    return (good + PRIOR_WEIGHT * prior) / (good + bad + PRIOR_WEIGHT);
  }

  /** Returns the most promising of some random members. */
  #best(size: number, draw: () => Member | undefined, chance: Leaning['chance']): Member | undefined {
    let best: Member | undefined;
    let least = Number.POSITIVE_INFINITY;
    const draws = Math.min(size, chance ? COMPARED : 2);
    for (let drawn = 0; drawn < draws; drawn++) {
      const member = draw();
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
      if (this.#isThere(member) && suits(member.upstream, kind)) return member;
    }
    for (const member of [...set]) {
      if (this.#isThere(member) && suits(member.upstream, kind)) return member;
    }
    return undefined;
  }

  #drawUntried(suits: Suits): Member | undefined {
    const { kind, opinion } = this.#options;
    const isUntried = (upstream: Upstream) => {
      const known = this.#known.get(upstream.key);
      const hasResults = known !== undefined && (this.#trusted.has(known) || this.#ejected.has(known));
      return !hasResults && suits(upstream, kind);
    };
    for (let draw = 0; draw < DRAWS; draw++) {
      const upstream = this.#roster.any();
      if (!upstream) return undefined;
      if (isUntried(upstream) && opinion?.(upstream.key) !== 'bad') return this.#memberFor(upstream);
    }
    for (const upstream of this.#roster) if (isUntried(upstream)) return this.#memberFor(upstream);
    return undefined;
  }

  /** Brings what is known about the upstream up to date. Returns false, and forgets it, if it has left. */
  #isThere(member: Member): boolean {
    const upstream = this.#roster.get(member.upstream.key);
    if (upstream === undefined) this.#forget(member);
    else member.upstream = upstream;
    return upstream !== undefined;
  }

  #memberFor(upstream: Upstream): Member {
    const known = this.#known.get(upstream.key);
    if (known) known.upstream = upstream;
    const latencyMs = upstream.latencyMs ?? UNKNOWN_LATENCY_MS;
    return (
      known ?? { upstream, good: 0, bad: 0, latencyMs, busy: 0, failures: 0, ejections: 0, ejectedUntil: 0 }
    );
  }

  /** Above the limit, what was chosen longest ago is forgotten. */
  #remember(member: Member): void {
    const { key } = member.upstream;
    this.#known.delete(key);
    this.#known.set(key, member);
    if (this.#known.size <= MOST_KNOWN) return;
    const [oldest] = this.#known.values();
    if (oldest) this.#forget(oldest);
  }

  #forget(member: Member): void {
    this.#known.delete(member.upstream.key);
    for (const set of [this.#trusted, this.#ejected]) set.delete(member);
  }

  get #untriedSize(): number {
    return Math.max(0, this.#roster.size - this.#trusted.size - this.#ejected.size);
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
      if (member.ejectedUntil <= now) this.#ejected.delete(member);
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
    if (this.#known.get(member.upstream.key) !== member) return;
    for (const set of [this.#trusted, this.#ejected]) {
      if (set !== to) set.delete(member);
    }
    to.add(member);
  }
}
