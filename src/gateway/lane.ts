import type { OwnedMap } from '../lib/owned-map.ts';
import type { Bans } from '../proxy/targets/bans.ts';
import type { Agreement, Testimony, Witness } from '../proxy/targets/testimony.ts';
import { Distrust } from './distrust.ts';
import { Draw, leastOf } from './draw.ts';
import { Hedges } from './hedges.ts';
import type { Session } from './sessions.ts';
import { exitOf, type Failure, type Kind, type Upstream } from './upstream.ts';
import { NEVER_SEEN, type Visits } from './visits.ts';

/** An upstream, with the results for one kind of traffic. Counts fade, so that the last dozen results matter. */
export interface Member {
  readonly key: string;
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
  /** Whether the latest answer did not come, or not to its end: a handshake does not make up for that. */
  owes: boolean;
  ejections: number;
  /** Until when it is left out, on the clock of the lane. */
  ejectedUntil: number;
  /** What it has shown over plain http, and after which looks it was asked and when. Sums, as others choose the length of the texts. */
  shown?: { url: number; look: number; askedAt: number; asked: Map<number, number>; found: boolean };
}

/** What the lanes of all accounts share, are made of, and tell. */
export interface Common {
  kind: Kind;
  /** 0 to 1. */
  random: () => number;
  /** A monotonic clock in ms. */
  monotonic: () => number;
  /** All upstreams that carry this kind, whatever anyone has seen of them. */
  roster: Draw<Upstream>;
  /** Those with results, and those that are being tried, by account. Those chosen longest ago are forgotten. */
  known: OwnedMap<Member>;
  /** What several accounts agree on. */
  agreed: Agreement;
  visits: (account: string, site: string) => Visits;
  /** What is known about which proxy reaches which site. */
  testimony: Testimony;
  /** Which exits are shut out of which site. */
  bans: Bans;
  /** Called when an upstream has failed, so that it can be checked. */
  onFailure: (upstream: Upstream, failure: Failure) => void;
}

/** Below this number, others are tried as well, so that traffic can spread. */
const PLENTY = 1_000;
/** Share of the requests that first try an upstream that is not known to work, and how many known ones raise it. */
const EXPLORE = { least: 1 / 8, most: 1 / 2, known: 16, fast: 1 / 16 } as const;
/** Number of upstreams among which the least recently used is chosen. */
const COMPARED = 32;
/** Factor between the time of a good upstream and that of one that still gets its share of the requests. */
const FIT = 2;
/** Number of unproven tunnels at once, beyond which an upstream is chosen only if all others have as many. */
const MOST_UNPROVEN = 2;
/** More than the time since any visit. */
const LATER = -2 * NEVER_SEEN;
/** Factor by which each result fades the older ones. */
const FADING = 0.9;
/** What the opinion of others makes of the prior of one without results. */
const OPINION_PRIOR = { good: 0.9, bad: 0.02 } as const;
/** Weight of the prior, as a number of results. */
const PRIOR_WEIGHT = 2;
const UNKNOWN_LATENCY_MS = 1_000;
/** A trusted upstream is ejected after this many failures in a row, because fewer may be bad luck. */
const PATIENCE = 3;
/** The results of an upstream that has none. */
const NEW = { good: 0, bad: 0, busy: 0, unproven: 0, failures: 0, ejections: 0, ejectedUntil: 0 } as const;
const EJECTION = { firstMs: 30_000, mostMs: 10 * 60_000 } as const;
/** Failures after which another try cannot help. */
const HOPELESS: ReadonlySet<Failure> = new Set(['auth_required', 'page', 'distrusted']);
/** Number of candidates that `fast` compares. With two, it would use whatever is known to work, however slow. */
const RACED = 6;

/**
 * How the next one is chosen of those that work: the one that the site has not seen for longest, any, or the best of
 * a few.
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
  /** Reports which exits should be chosen only if no other one that works is left. Default: none. */
  avoid?: ((exit: string) => boolean) | undefined;
  /** The same for exits that are chosen before those to avoid. */
  taken?: ((exit: string) => boolean) | undefined;
  /** True if an untried upstream must have passed a check to be tried before those that work. */
  careful?: boolean;
}

/** Decides which upstreams may be chosen. `isOwn`: it is the exit of the session, which may have become slower. */
export type Suits = (upstream: Upstream, kind: Kind, isOwn?: boolean) => boolean;

/** Returns how late an upstream is chosen, from 0 to 2; `undefined` if it may not be. */
type Rank = (upstream: Upstream) => number | undefined;

/**
 * All upstreams that carry one kind of traffic, and what one account has seen of them, which changes nothing for another
 * one unless several agree. Those that worked recently are `trusted`; untried ones have no results, or may be tried
 * again; the rest are left out for a while, longer each time, unless no others are left.
 */
export class Lane {
  /** When further upstreams are tried, learnt from those that have delivered. */
  readonly hedges = new Hedges();
  readonly #trusted: Draw<Member>;
  readonly #common: Common;
  readonly #witness: Witness;
  /** What clients did not trust in the middle of a handshake, and what broke off or fell silent after it. */
  readonly distrust = new Distrust<Member>();
  /** Trusted upstreams that were ejected since anything worked: if all fail at once, the fault is ours. */
  #suspects: Member[] = [];

  constructor(common: Common, witness: Witness) {
    this.#common = common;
    this.#witness = witness;
    this.#trusted = new Draw(common.random);
  }

  /** True once an upstream is known to work, so that trying one at a time is enough. */
  get learned(): boolean {
    return this.#trusted.size > 0;
  }

  /** Reports whether any upstream may serve a request, in whatever state. */
  has({ suits, session }: { suits: Suits; session: Session | null }): boolean {
    const { roster, kind } = this.#common;
    const [own, only] = [session?.pinned, session?.only];
    const isFit = (one: Upstream) => (only ?? one.key) === one.key && suits(one, kind, one.key === own);
    return roster.some(1, (one) => (isFit(one) ? 0 : undefined)).length > 0;
  }

  /** Reports whether an upstream has worked recently. */
  trusts({ key }: Upstream): boolean {
    return this.#trusted.get(key) !== undefined;
  }

  /** Reports whether an upstream is known to deliver what targets answer. */
  knows(upstream: Upstream): boolean {
    return (upstream.proven && upstream.carries[this.#common.kind]) || this.trusts(upstream);
  }

  /** Reports whether a request should first try an upstream that is not known to work. */
  explores(rotation: Rotation): boolean {
    const { size } = this.#trusted;
    const { least, most, known, fast } = EXPLORE;
    const share = rotation === 'fast' ? fast : Math.max(least, Math.min(most, known / size));
    return size < Math.min(PLENTY, this.#common.roster.size) && this.#common.random() < share;
  }

  /** Returns an upstream as a member, whatever is known about it. */
  take(upstream: Upstream): Member {
    const member = this.#memberFor(upstream);
    this.#common.known.set(this.#witness.id, member.key, member);
    return member;
  }

  /**
   * Returns the next upstream to try: one that works, otherwise an untried one. `unknown`: an untried one first, or
   * nothing else. Returns `undefined` if none is suitable.
   */
  choose(
    suits: (upstream: Upstream) => boolean,
    leaning: Leaning = {},
    unknown: 'last' | 'first' | 'only' = 'last',
  ): Member | undefined {
    const { avoid, taken, careful, visits } = leaning;
    const rankOf: Rank = (one) => {
      if (!suits(one)) return undefined;
      return avoid?.(exitOf(one)) ? 2 : taken?.(exitOf(one)) ? 1 : 0;
    };
    const checked: Rank = (one) => (one.proven ? rankOf(one) : undefined);
    const first = () => this.#drawUntried(careful ? checked : rankOf, leaning);
    const known = () => this.#drawTrusted(rankOf, leaning);
    const others = () => this.#drawUntried(rankOf, leaning, true, !found);
    const draws = { first: [first, known, others], last: [known, others], only: [first] };
    let found: Member | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const draw of draws[unknown]) {
      const member = least > 0 ? draw() : undefined;
      const rank = (member && rankOf(member.upstream)) ?? Number.POSITIVE_INFINITY;
      if (rank < least) found = member;
      least = Math.min(least, rank);
    }
    if (found === undefined) return undefined;
    visits?.note(exitOf(found.upstream));
    return this.take(found.upstream);
  }

  /** Returns what a choice for a site considers. `rated`: the site whose results decide. */
  leaningAt(site: string, rated: string): Pick<Leaning, 'visits' | 'chance' | 'avoid'> {
    const { testimony, bans, visits } = this.#common;
    const draw = testimony.drawAt(this.#witness, rated);
    return {
      visits: visits(this.#witness.id, site),
      chance: draw && ((member) => draw(member.key, this.score(member))),
      avoid: bans.at(this.#witness, site),
    };
  }

  /**
   * Credits an upstream that has delivered from a site, and had answered `tookMs` after its dial, before those that
   * were slower although they had enough time.
   */
  worked(member: Member, site: string, tookMs: number, slower: readonly Member[] = []): void {
    this.hedges.observe(site, tookMs);
    this.#agree(member, true);
    // What was expected before the first result is a guess.
    member.latencyMs = member.good === 0 ? tookMs : member.latencyMs * 0.7 + tookMs * 0.3;
    member.good = member.good * FADING + 1;
    member.bad *= FADING;
    if (!member.owes) member.failures = member.ejections = 0;
    this.#suspects = [];
    this.#trust(member);
    for (const other of slower) {
      if (this.trusts(other.upstream)) other.bad = other.bad * FADING + 0.3;
      else this.#eject(other);
    }
  }

  /** Has an upstream checked that has failed, and blames it, unless the fault is another's. */
  failed(member: Member, why: Failure, isBlamed = true): void {
    this.#common.onFailure(member.upstream, why);
    // One that has not worked comes after those that have not failed, although the fault may be another's.
    if (isBlamed || !this.trusts(member.upstream)) member.failures++;
    if (!isBlamed) return;
    this.#agree(member, false);
    member.bad = member.bad * FADING + 1;
    member.good *= FADING;
    const mayBeLuck = this.trusts(member.upstream) && !HOPELESS.has(why);
    if (mayBeLuck) {
      // What began well was a success before, each time.
      if (why !== 'cut' && member.failures < PATIENCE && this.score(member) > 0.5) return;
      // Never eject more than half of those that have worked: the fault is then probably in our network or the target.
      if (this.#suspects.length >= Math.max(4, this.#trusted.size)) {
        for (const suspect of this.#suspects.splice(0)) this.#absolve(suspect);
        return;
      }
      this.#suspects.push(member);
    }
    this.#eject(member, HOPELESS.has(why));
  }

  /**
   * Blames an upstream for what began and did not end well, unless that is put down to the target. Returns whether it did.
   * `since`: when an answer fell silent or ended. Default: it was a handshake.
   */
  distrusted(member: Member, target: string, why: Failure = 'distrusted', since?: number): boolean {
    const isKnown = this.knows(member.upstream);
    const absolved = this.distrust.note(target, member, isKnown, this.#trusted.size, since);
    if (absolved === null) this.failed(member, why);
    else for (const other of absolved) this.#absolve(other);
    return absolved === null;
  }

  /** Returns what notes how an answer ends that begins now; `since`: when it fell silent or ended. A fault counts once. */
  begun(member: Member, target: string, session: Session | null) {
    const began = this.#common.monotonic();
    let wasBad = false;
    return (why: 'cut' | 'timeout' | null, since: number, records?: string): void => {
      if (why && wasBad) return;
      wasBad ||= why !== null;
      if (!why) this.distrust.trusted(target, this.#common.monotonic(), records);
      // What does not come may be bad luck. Twice in a row, it counts like a cut.
      member.owes = why !== null && this.distrusted(member, target, member.owes ? 'cut' : why, since);
      if (!why || member.owes) session?.ended(member.upstream, member.owes, began);
    };
  }

  /** Records whether an upstream reached the site that was really connected to. */
  reached(site: string, { key }: Upstream, reached: boolean): void {
    this.#common.testimony.observe(this.#witness, site, key, reached);
  }

  /** Shuts out the exit of an upstream at a site that has refused it. */
  refused(site: string, upstream: Upstream): void {
    this.#common.bans.refused(this.#witness, site, exitOf(upstream));
    this.reached(site, upstream, false);
  }

  /** Returns the estimated share of successful attempts. */
  score({ upstream, good, bad }: Member): number {
    const opinion = good + bad === 0 ? this.#common.agreed.opinion(upstream.key) : undefined;
    const prior = opinion ? OPINION_PRIOR[opinion] : upstream.prior;
    return (good + PRIOR_WEIGHT * prior) / (good + bad + PRIOR_WEIGHT);
  }

  /** Returns the one whose turn it is of those whose expected time is not much longer than that of the best. */
  #drawTrusted(rankOf: Rank, leaning: Leaning): Member | undefined {
    const { rotation, visits, chance } = leaning;
    const { kind, random } = this.#common;
    const gone: Member[] = [];
    const rankOfMember = (member: Member) => {
      if (member.upstream.carries[kind]) return rankOf(member.upstream);
      gone.push(member);
      return undefined;
    };
    const isFast = rotation === 'fast';
    const members = isFast
      ? Array.from({ length: RACED }, () => this.#trusted.some(1, rankOfMember)).flat()
      : this.#trusted.some(COMPARED, rankOfMember);
    for (const { key } of gone) this.forget(key);
    if (isFast) return leastOf(members, (member) => this.#cost(member, chance?.(member)) * (1 + member.busy));
    // The best quarter, because a single one that is much faster than all others must not get all requests.
    const costs = Float64Array.from(members, (member) => this.#cost(member)).sort();
    const most = FIT * (costs[costs.length >> 2] ?? 0);
    const turnOf = ({ unproven, upstream }: Member) =>
      (unproven < MOST_UNPROVEN ? 0 : unproven * LATER) +
      (rotation === 'random' ? random() : (visits?.latest(exitOf(upstream)) ?? 0));
    for (let waiting = members; ; ) {
      const next = leastOf(waiting, turnOf);
      if (next === undefined) return leastOf(members, (member) => this.#cost(member, chance?.(member)));
      if (this.#cost(next, chance?.(next)) <= most) return next;
      waiting = waiting.filter((member) => member !== next);
    }
  }

  /**
   * Returns one of the untried that nobody else is trying: a bad one that answers faster than all others must not win
   * several races before the first has failed. `shared`: or one that the fewest are trying. `last`: or one left out.
   */
  #drawUntried(rankOf: Rank, { chance }: Leaning, shared = false, last = false): Member | undefined {
    const { roster, known, agreed, monotonic } = this.#common;
    if (this.#trusted.size >= roster.size) return undefined;
    const now = monotonic();
    const own = known.of(this.#witness.id);
    const busyRank = (upstream: Upstream) => {
      if (this.trusts(upstream)) return undefined;
      const { busy, ejectedUntil, failures, ejections } = own?.get(upstream.key) ?? NEW;
      const isOut = ejectedUntil > now;
      const rank = (isOut && !last) || (busy > 0 && !shared) ? undefined : rankOf(upstream);
      // Others may be wrong about those, and several requests may need the same one.
      const isDoubtful = failures + ejections > 0 || agreed.opinion(upstream.key) === 'bad';
      return rank === undefined ? undefined : rank + (isOut ? 0.9 : busy > 0 ? 0.8 : isDoubtful ? 0.5 : 0);
    };
    const draw = (most: number) => roster.some(most, busyRank).map((upstream) => this.#memberFor(upstream));
    const idle = draw(2).filter(({ busy }) => busy === 0);
    if (idle.length > 0) return leastOf(idle, (member) => this.#cost(member, chance?.(member)));
    return shared ? leastOf(draw(COMPARED), ({ unproven, busy }) => unproven * 1_000 + busy) : undefined;
  }

  /** Drops what is known of an upstream. */
  forget(key: string): void {
    this.#common.known.delete(this.#witness.id, key);
    this.#trusted.delete(key);
  }

  #memberFor(upstream: Upstream): Member {
    const known = this.#common.known.get(this.#witness.id, upstream.key);
    if (known) known.upstream = upstream;
    const latencyMs = upstream.latencyMs ?? UNKNOWN_LATENCY_MS;
    return known ?? { key: upstream.key, upstream, latencyMs, owes: false, ...NEW };
  }

  /** Returns the expected time to an answer with all the tries that it takes, roughly. */
  #cost(member: Member, chance = this.score(member)): number {
    return (member.latencyMs + 50) / Math.max(0.001, chance);
  }

  #agree({ upstream }: Member, good: boolean): void {
    upstream.works = good;
    this.#common.agreed.note(upstream.key, this.#witness.id, good);
  }

  #trust(member: Member): void {
    const isKnown = this.#common.known.get(this.#witness.id, member.key) === member;
    if (isKnown && member.upstream.carries[this.#common.kind]) this.#trusted.set(member);
  }

  /** Takes back what it was blamed for. Those that have worked are trusted again. */
  #absolve(member: Member): void {
    Object.assign(member, { ejections: 0, failures: 0, owes: false, ejectedUntil: 0 });
    if (member.good === 0) return;
    this.#agree(member, true);
    this.#trust(member);
  }

  #eject(member: Member, hopeless = false): void {
    const { firstMs, mostMs } = EJECTION;
    const restMs = hopeless ? mostMs : Math.min(mostMs, firstMs * ++member.ejections);
    member.ejectedUntil = this.#common.monotonic() + restMs;
    if (this.#trusted.get(member.key) === member) this.#trusted.delete(member.key);
  }
}
