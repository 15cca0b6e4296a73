import { Draw } from './draw.ts';
import { exitOf, type Failure, type Kind, type Roster, type Upstream } from './upstream.ts';
import type { Visits } from './visits.ts';

/** An upstream, with the results for one kind of traffic. Counts fade, so that the last dozen results matter. */
export interface Member {
  upstream: Upstream;
  good: number;
  bad: number;
  /** Fading mean of the time to an answer, in ms. */
  latencyMs: number;
  /** Number of its connections and attempts. */
  busy: number;
  /** Number of its tunnels that have begun with a handshake and not proven anything yet. */
  unproven: number;
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
  /** The upstreams, which several lanes may share. */
  roster: Roster;
  /** Returns what several others have seen of an upstream. Default: nothing. */
  opinion?: (key: string) => Opinion | null;
}

/** What several users of the gateway have seen of an upstream. */
type Opinion = 'good' | 'bad';

/** Below this number, others are tried as well, so that traffic can spread. */
const PLENTY = 1_000;
/** Share of the requests that first try an upstream that is not known to work, and how many known ones raise it. */
const EXPLORE = { least: 1 / 8, most: 1 / 2, known: 16, fast: 1 / 16 } as const;
/** Number of upstreams among which the least recently used is chosen. */
const COMPARED = 64;
/** Factor between the time of a good upstream and that of one that still gets its share of the requests. */
const FIT = 2;
/** Number of unproven tunnels at once, beyond which an upstream is chosen only if all others have as many. */
const MOST_UNPROVEN = 2;
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
/** Failures after which another try cannot help. */
const HOPELESS: ReadonlySet<Failure> = new Set(['auth_required', 'page', 'distrusted']);
/** Number of draws before no suitable upstream is assumed. */
const DRAWS = 8;
/** Number of candidates that `fast` compares if it is known who reaches the target, otherwise two. */
const RACED = 6;

/**
 * How the next one is chosen of those that work: the one that the site has not seen for longest, any, or the better of
 * two.
 */
export const ROTATIONS = ['spread', 'random', 'fast'] as const;
export type Rotation = (typeof ROTATIONS)[number];

/** What else a choice should consider. */
export interface Leaning {
  /** Default: `spread`. */
  rotation?: Rotation;
  /** What the site has seen. Default: nothing, of anyone. */
  visits?: Visits;
  /** Returns the chance, 0 to 1, that a member reaches the target. Default: as that of any target. */
  chance?: ((member: Member) => number) | undefined;
  /** Reports, by key, which upstreams should be taken only if no other one that works is left. */
  avoid?: Avoids | undefined;
  /** The key of the only one that may be taken, whatever is known about it. */
  pinned?: string | undefined;
  /** The same for exits, which are taken before those to avoid. */
  taken?: Avoids | undefined;
  /** True if an untried upstream must have passed a check to be tried before those that work. */
  careful?: boolean;
}

/** Reports whether the upstream or exit with this name should be avoided. */
export type Avoids = (name: string) => boolean;

/** Decides which upstreams may be chosen. */
export type Suits = (upstream: Upstream, kind: Kind) => boolean;

/**
 * All upstreams that carry one kind of traffic, and the results of one user's traffic. Those that worked recently are
 * `trusted`; `untried` ones have no results, or may be tried again; the rest are ejected, for longer each time. If no
 * others are left, ejected upstreams are tried anyway.
 */
export class Lane {
  /** Those with results, and those that are being tried. */
  readonly #known = new Map<string, Member>();
  readonly #trusted: Draw<Member>;
  readonly #ejected: Draw<Member>;
  readonly #options: LaneOptions;
  /** Trusted upstreams that were ejected since anything worked: if all fail at once, the fault is ours. */
  #suspects: Member[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
    const membership = { keyOf: ({ upstream }: Member) => upstream.key, random: options.random };
    this.#trusted = new Draw(membership);
    this.#ejected = new Draw(membership);
  }

  get kind(): Kind {
    return this.#options.kind;
  }

  /** True once an upstream is known to work, so that trying one at a time is enough. */
  get learned(): boolean {
    return this.#trusted.size > 0;
  }

  /** Reports whether any upstream is suitable, in whatever state. */
  has(suits: Suits): boolean {
    for (const upstream of this.#options.roster) if (suits(upstream, this.#options.kind)) return true;
    return false;
  }

  /** Reports whether an upstream has worked recently. */
  trusts(upstream: Upstream): boolean {
    return this.#trusted.get(upstream.key) !== undefined;
  }

  /** Reports whether a request should first try an upstream that is not known to work. */
  explores(rotation: Rotation): boolean {
    const { size } = this.#trusted;
    const { least, most, known, fast } = EXPLORE;
    const share = rotation === 'fast' ? fast : Math.max(least, Math.min(most, known / size));
    return this.#othersSize > 0 && size < PLENTY && this.#options.random() < share;
  }

  sizes(): { trusted: number; untried: number; ejected: number } {
    const ejected = this.#ejected.size;
    return { trusted: this.#trusted.size, untried: Math.max(0, this.#othersSize - ejected), ejected };
  }

  /** Those that have worked recently. */
  get trusted(): Member[] {
    return this.#trusted.some(MOST_KNOWN, () => true);
  }

  /** Reports whether there is such an upstream. */
  holds(key: string): boolean {
    return this.#options.roster.get(key) !== undefined;
  }

  /**
   * Returns the next upstream to try: one that works, otherwise an untried one. `unknown`: an untried one first, or
   * nothing else. Returns `undefined` if none is suitable.
   */
  choose(
    suits: Suits,
    leaning: Leaning = {},
    unknown: 'last' | 'first' | 'only' = 'last',
  ): Member | undefined {
    const { avoid, taken, visits, careful, pinned } = leaning;
    const allowed: Suits = (upstream, kind) => !avoid?.(upstream.key) && suits(upstream, kind);
    const find = (fitting: Suits) => {
      const checked: Suits = (upstream, kind) => upstream.proven[kind] && fitting(upstream, kind);
      const idle = () => this.#drawUntried(careful ? checked : fitting, leaning);
      const trusted = () => this.#drawTrusted(fitting, leaning);
      if (unknown === 'only') return idle();
      if (unknown === 'first') return idle() ?? trusted();
      return trusted() ?? this.#drawUntried(fitting, leaning, true);
    };
    const only = pinned === undefined ? undefined : this.#options.roster.get(pinned);
    let found = only && this.#memberFor(only);
    if (taken) found ??= find((upstream, kind) => !taken(exitOf(upstream)) && allowed(upstream, kind));
    found ??= find(allowed);
    if (avoid) found ??= find(suits);
    if (unknown !== 'only') found ??= this.#drawFrom(this.#ejected, suits, leaning);
    if (found) {
      this.#remember(found);
      visits?.note(exitOf(found.upstream));
    }
    return found;
  }

  succeeded(member: Member, latencyMs: number): void {
    // What was expected before the first result is a guess.
    member.latencyMs = member.good === 0 ? latencyMs : member.latencyMs * 0.7 + latencyMs * 0.3;
    member.good = member.good * FADING + 1;
    member.bad *= FADING;
    member.failures = 0;
    member.ejections = 0;
    this.#suspects = [];
    this.#move(member, this.#trusted);
  }

  failed(member: Member, why: Failure): void {
    member.bad = member.bad * FADING + 1;
    member.good *= FADING;
    member.failures++;
    const hopeless = HOPELESS.has(why);
    const wasTrusted = this.#trusted.has(member);
    if (wasTrusted && !hopeless && member.failures < PATIENCE && this.score(member) > 0.5) return;
    // Never eject more than half of those that have worked: the fault is then probably in our network or the target.
    if (wasTrusted && !hopeless && this.#suspects.length >= Math.max(4, this.#trusted.size)) {
      this.#blameOurselves();
      return;
    }
    if (wasTrusted && !hopeless) this.#suspects.push(member);
    this.#eject(member, hopeless);
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

  #drawTrusted(suits: Suits, leaning: Leaning): Member | undefined {
    const { rotation = 'spread' } = leaning;
    if (rotation === 'fast') return this.#drawFrom(this.#trusted, suits, leaning);
    return this.#fittest(this.#suitable(this.#trusted, suits, COMPARED), leaning);
  }

  /** Returns the one whose turn it is of those whose expected time is not much longer than that of the best. */
  #fittest(members: readonly Member[], { rotation, visits, chance }: Leaning): Member | undefined {
    // The best quarter, because a single one that is much faster than all others must not get all requests.
    const costs = members.map((member) => this.#cost(member)).sort((a, b) => a - b);
    const most = FIT * (costs[Math.floor(costs.length / 4)] ?? 0);
    const turns = members.map((member) => ({
      member,
      owes: member.unproven < MOST_UNPROVEN ? 0 : member.unproven,
      latest: rotation === 'random' ? this.#options.random() : (visits?.latest(exitOf(member.upstream)) ?? 0),
    }));
    turns.sort((one, other) => one.owes - other.owes || one.latest - other.latest);
    return leastOf(
      turns.map(({ member }) => member),
      (member) => this.#cost(member, chance?.(member)),
      most,
    );
  }

  /** Returns the most promising of a few random members. */
  #drawFrom(set: Draw<Member>, suits: Suits, { chance }: Leaning): Member | undefined {
    const drawn = Array.from({ length: chance ? RACED : 2 }, () => this.#suitable(set, suits, 1)).flat();
    return leastOf(drawn, (member) => this.#cost(member, chance?.(member)) * (1 + member.busy));
  }

  /** Returns up to `most` members, from a random one on. */
  #suitable(set: Draw<Member>, suits: Suits, most: number): Member[] {
    const { kind } = this.#options;
    const gone: Member[] = [];
    const found = set.some(most, (member) => {
      if (this.#isThere(member)) return suits(member.upstream, kind);
      gone.push(member);
      return false;
    });
    for (const member of gone) this.#forget(member);
    return found;
  }

  /** Reports whether nothing is known about an upstream, or nothing recent. */
  #isUntried(upstream: Upstream, now: number): boolean {
    return !this.trusts(upstream) && (this.#ejected.get(upstream.key)?.ejectedUntil ?? 0) <= now;
  }

  /**
   * Returns one of the untried that nobody else is trying: a bad one that answers faster than all others must not win
   * several races before the first has failed. `shared`: if there is none, one that the fewest are trying.
   */
  #drawUntried(suits: Suits, { chance }: Leaning, shared = false): Member | undefined {
    if (this.#othersSize === 0) return undefined;
    const { roster, kind, opinion, monotonic } = this.#options;
    const now = monotonic();
    const drawn: Member[] = [];
    for (let draw = 0; draw < DRAWS && drawn.length < 2; draw++) {
      const upstream = roster.any();
      if (!upstream || !this.#isUntried(upstream, now) || opinion?.(upstream.key) === 'bad') continue;
      if (suits(upstream, kind) && !this.#known.get(upstream.key)?.busy)
        drawn.push(this.#memberFor(upstream));
    }
    if (drawn.length > 0) return leastOf(drawn, (member) => this.#cost(member, chance?.(member)));
    const owed = ({ unproven, busy }: Member) => unproven * 1_000 + busy;
    let best: Member | undefined;
    for (const upstream of roster) {
      if (!this.#isUntried(upstream, now) || !suits(upstream, kind)) continue;
      const member = this.#memberFor(upstream);
      if (member.busy === 0) return member;
      if (shared && (best === undefined || owed(member) < owed(best))) best = member;
    }
    return best;
  }

  /** Brings what is known about the upstream up to date. Returns false if it has left. */
  #isThere(member: Member): boolean {
    const upstream = this.#options.roster.get(member.upstream.key);
    if (upstream !== undefined) member.upstream = upstream;
    return upstream !== undefined;
  }

  #memberFor(upstream: Upstream): Member {
    const known = this.#known.get(upstream.key);
    if (known) known.upstream = upstream;
    const latencyMs = upstream.latencyMs ?? UNKNOWN_LATENCY_MS;
    const results = { good: 0, bad: 0, busy: 0, unproven: 0, failures: 0, ejections: 0, ejectedUntil: 0 };
    return known ?? { upstream, latencyMs, ...results };
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
    for (const set of [this.#trusted, this.#ejected]) set.delete(member.upstream.key);
  }

  /** Number of upstreams that are not known to work. */
  get #othersSize(): number {
    return Math.max(0, this.#options.roster.size - this.#trusted.size);
  }

  /** Returns the expected time to an answer with all the tries that it takes, roughly. */
  #cost(member: Member, chance = this.score(member)): number {
    return (member.latencyMs + 50) / Math.max(0.001, chance);
  }

  #eject(member: Member, hopeless = false): void {
    const { firstMs, mostMs } = EJECTION;
    const restMs = hopeless ? mostMs : Math.min(mostMs, firstMs * ++member.ejections);
    member.ejectedUntil = this.#options.monotonic() + restMs;
    this.#move(member, this.#ejected);
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
      if (set !== to) set.delete(member.upstream.key);
    }
    to.set(member);
  }
}

/** Returns the first member whose cost is at most `enough`, otherwise the one with the least. */
function leastOf(
  members: readonly Member[],
  costOf: (member: Member) => number,
  enough = 0,
): Member | undefined {
  let best: { member: Member; cost: number } | undefined;
  for (const member of members) {
    const cost = costOf(member);
    if (cost <= enough) return member;
    if (best === undefined || cost < best.cost) best = { member, cost };
  }
  return best?.member;
}
