import { siteOf } from '../proxy/targets/site.ts';
import type { Tcp } from '../runtime/tcp.ts';
import { Attempt, type Doubt, type Plan } from './attempt.ts';
import { canaryFor } from './http-answer.ts';
import type { Asked } from './journal.ts';
import type { Lane, Leaning, Member } from './lane.ts';
import { exitOf, type Failure, type Upstream } from './upstream.ts';

/** What a client needs an upstream for. */
export interface Wish extends Omit<Asked, 'startedAt'> {
  planFor: (upstream: Upstream) => Plan;
  /** Whether several may be tried at once. */
  wide: boolean;
}

export interface RaceOptions {
  tcp: Pick<Tcp, 'dial'>;
  monotonic: () => number;
  /** Maximum number of upstreams tried for one request, of each group of lists. */
  tries: number;
  /** Time limit for an answer. */
  timeoutMs: number;
  /** Returns the upstream with a key, whatever it carries. */
  upstreamOf: (key: string) => Upstream | undefined;
}

export interface RaceResult {
  attempt: Attempt;
  /** True if the answer proves nothing of this upstream: it may be its own, or only equal to that of another. */
  doubtful: boolean;
  /** Whether several exits answered alike. */
  agreed: boolean;
  /** Those that were slower, although they had enough time. */
  slower: Member[];
}

/** Called once with the winner or `null`, the number of attempts, and whether a session has lost the exit it is locked to. */
export type OnEnd = (result: RaceResult | null, tries: number, lost: boolean) => void;

/** Number of upstreams tried at once until one is known to work. */
const COLD_WIDTH = 3;
/** Share of the time limit after which another exit is looked for, although the session's may still answer. */
const PATIENCE = 0.5;
/**
 * Number of upstreams with the same doubtful answer, one of which has worked, or of failing exits that are all known to
 * work, after which it is put down to the target. Of doubtful answers, one more if none has worked yet.
 */
const ALIKE = 2;
/** Share of a try that an upstream gives back if it cannot be connected, because no target has heard of the request. */
const GIVEN_BACK = 7 / 8;
/** Number of exits with the same refusal after which it counts as the site's answer to everyone. */
const REFUSED_ALIKE = 3;

/**
 * Tries upstreams until one delivers an answer. A failed attempt is replaced at once; without any answer, one more is
 * added from time to time. Groups of lists are tried in order, each but the last in half of the time that is left. A
 * session begins with its exit. If that is lost, the upstream that answers first becomes its exit, also for those of
 * its requests that are looking for one at the same time.
 */
export class Race {
  readonly #options: RaceOptions;
  readonly #lane: Lane;
  readonly #wish: Wish;
  readonly #onEnd: OnEnd;
  readonly #leaning: Leaning;
  readonly #site: string;
  readonly #hedgeMs: number;
  readonly #running = new Set<Attempt>();
  /** Answers that may be the proxy's own. */
  readonly #doubtful = new Map<Attempt, Doubt>();
  /** Questions for a host that does not exist, by the answer that they are about. */
  readonly #canaries = new Map<Attempt, Attempt>();
  /** What those that deliver elsewhere have met. Whose fault it was is known in the end. */
  readonly #failed = new Map<Member, Failure>();
  /** The exit of the session when the race began, and when it was last looked at. */
  readonly #own: string | null;
  #pinned: string | null;
  /** Names of the lists that are left to try, group by group, and those of the current group; `null`: all. */
  readonly #groups: (ReadonlySet<string> | null)[];
  #group: ReadonlySet<string> | null = null;
  /** When all groups must have answered, and the current one. */
  readonly #endsAt: number;
  #deadline = 0;
  /** Number of upstreams that may still be tried of this group. */
  #left = 0;
  readonly #tried = new Set<string>();
  #tries = 0;
  /** Whether one more may be tried without a token, because the session's exit keeps its request waiting. */
  #mayMove = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  constructor(options: RaceOptions, lane: Lane, wish: Wish, onEnd: OnEnd) {
    const { target, admission, wide } = wish;
    const { session, rotation, sources = [null] } = admission;
    const site = siteOf(target.host);
    this.#options = options;
    this.#lane = lane;
    this.#wish = wish;
    this.#onEnd = onEnd;
    this.#site = site;
    this.#leaning = {
      rotation,
      ...lane.leaningAt(site, admission.site ?? site),
      taken: session ? (exit) => session.isTaken(exit) : undefined,
      // What is sent only once must not be lost to find out more.
      careful: !wide,
    };
    this.#own = session?.pinned ?? null;
    this.#pinned = this.#own;
    // The only exit that may be tried has all of the time, whatever list it is from.
    this.#groups = this.#isLocked ? [null] : [...sources];
    this.#endsAt = options.monotonic() + options.timeoutMs;
    this.#hedgeMs = lane.hedges.afterMs(site);
    lane.hedges.request();
    this.#begin();
  }

  /** Begins with the next group. */
  #begin(): void {
    const { monotonic, tries } = this.#options;
    const { wide, admission } = this.#wish;
    const { session, rotation } = admission;
    const lane = this.#lane;
    const now = monotonic();
    this.#group = this.#groups.shift() ?? null;
    this.#deadline = this.#groups.length > 0 ? (now + this.#endsAt) / 2 : this.#endsAt;
    this.#left = tries;
    this.#pinned = session?.pinned ?? null;
    const first = this.#try(lane.learned && !session && lane.explores(rotation) ? 'first' : 'last');
    const isOwn = first !== undefined && first.key === this.#pinned;
    this.#mayMove = isOwn && session?.locked === false;
    for (let place = 1; wide && !isOwn && !lane.learned && place < COLD_WIDTH; place++) this.#try('only');
    if (this.#running.size === 0) this.#settle(false);
    else this.#wait(isOwn ? (this.#deadline - now) * PATIENCE : this.#hedgeMs);
  }

  answered(attempt: Attempt, doubt: Doubt | null): void {
    if (this.#over || !this.#running.delete(attempt)) return;
    if (doubt === null) {
      this.#win(attempt);
      return;
    }
    const { mayBeOwn, look, refusal } = doubt;
    const alike = [...this.#doubtful].filter(([, other]) => other.look === look).map(([other]) => other);
    // A session keeps its exit, whatever the site answers.
    const isPinned = attempt.member.key === this.#pinned;
    if (!mayBeOwn && (isPinned || this.#isTargets([attempt, ...alike], refusal))) {
      this.#win(attempt, { doubtful: true, agreed: alike.length > 0 });
      return;
    }
    this.#doubtful.set(attempt, doubt);
    if (mayBeOwn) this.#prove(attempt, doubt);
    else this.#replace();
  }

  failed(attempt: Attempt, failure: Failure | 'stale'): void {
    if (this.#over || !this.#running.delete(attempt)) return;
    const { member, plan } = attempt;
    if (failure === 'stale') {
      this.#start(member, { ...plan, idle: undefined });
      return;
    }
    if (failure === 'unreachable') this.#left += GIVEN_BACK;
    this.#blame(member, failure);
    if (member.key === this.#pinned) {
      // What comes in its place gets the usual time.
      clearTimeout(this.#timer);
      this.#wait(this.#hedgeMs);
    }
    this.#replace();
  }

  #blame(member: Member, failure: Failure): void {
    const { kind, admission } = this.#wish;
    admission.session?.drop(member.upstream);
    // Only a proxy that works elsewhere says something about the site. Tunnels show no answers.
    if (kind === 'plain' && this.#lane.trusts(member.upstream))
      this.#lane.reached(this.#site, member.upstream, false);
    if (this.#lane.knows(member.upstream)) this.#failed.set(member, failure);
    else this.#lane.failed(member, failure);
  }

  /** What nobody got, although several exits that work have tried, is the fault of the target, or of our network. */
  #conclude(isAnswered: boolean): void {
    const exits = new Set([...this.#failed.keys()].map(({ upstream }) => exitOf(upstream)));
    const isTargets = !isAnswered && exits.size >= ALIKE;
    for (const [member, failure] of this.#failed) this.#lane.failed(member, failure, !isTargets);
    this.#failed.clear();
  }

  /** Finds out whether a doubtful answer is one that the proxy gives to everything. */
  #prove(attempt: Attempt, { look, refusal }: Doubt): void {
    const { member, plan } = attempt;
    const learn = (canary: Attempt, isOwn: boolean) => {
      canary.cancel();
      if (!this.#canaries.delete(attempt) || !this.#doubtful.delete(attempt)) return;
      this.#running.add(attempt);
      // It is the target's, and may still be meant for this exit alone.
      if (!isOwn)
        this.answered(attempt, refusal ? { look: look.slice(0, 3), mayBeOwn: false, refusal } : null);
      else {
        attempt.cancel();
        this.failed(attempt, 'page');
      }
    };
    const events = {
      answered: (canary: Attempt, seen: Doubt | null) =>
        learn(canary, seen === null || seen.look === look || Number.parseInt(seen.look, 10) < 400),
      failed: (canary: Attempt, failure: Failure | 'stale') => learn(canary, failure === 'page'),
    };
    const canary = canaryFor(member.upstream, plan.tunnel);
    this.#canaries.set(attempt, new Attempt(this.#options, member, { ...canary, events }));
  }

  #replace(): void {
    this.#try('last');
    if (this.#running.size === 0 && this.#canaries.size === 0) this.#settle(false);
  }

  /** Whether one more may be tried. */
  get #isLeft(): boolean {
    const connecting = [...this.#running].filter(({ isConnecting }) => isConnecting).length;
    return this.#left + connecting * GIVEN_BACK > 0;
  }

  #try(unknown: 'last' | 'first' | 'only'): Member | undefined {
    const { planFor, admission } = this.#wish;
    const member = this.#isLeft ? this.#next(unknown) : undefined;
    if (!member) return undefined;
    const { upstream } = member;
    this.#left--;
    this.#tries++;
    this.#tried.add(upstream.key);
    admission.session?.hold(upstream);
    this.#start(member, planFor(upstream));
    return member;
  }

  #start(member: Member, plan: Plan): void {
    const { target } = this.#wish;
    this.#running.add(new Attempt(this.#options, member, { target, plan, events: this }));
  }

  /** Returns the exit of the session, or the one that another of its requests is trying, otherwise any. */
  #next(unknown: 'last' | 'first' | 'only'): Member | undefined {
    const { admission, kind } = this.#wish;
    const { suits, session } = admission;
    const tried = this.#tried;
    for (let key = session?.next(tried) ?? null; key !== null; key = session?.next(tried) ?? null) {
      const exit = this.#options.upstreamOf(key);
      if (exit && suits(exit, kind, true)) {
        this.#leaning.visits?.note(exitOf(exit));
        return this.#lane.take(exit);
      }
      // It has left the pool, or fits other requests. Another one may already try one in its place.
      tried.add(key);
    }
    if (this.#isLocked) return undefined;
    const fits = (one: Upstream) =>
      !tried.has(one.key) &&
      this.#group?.has(one.source) !== false &&
      // The exit of a session must carry whatever comes next.
      (!session || one.carries.tunnel) &&
      suits(one, kind);
    return this.#lane.choose(fits, this.#leaning, unknown);
  }

  /** Whether nothing but the exit of the session may be tried. */
  get #isLocked(): boolean {
    return this.#wish.admission.session?.locked === true && this.#pinned !== null;
  }

  /** Sets the timer to the next hedge or the end. */
  #wait(hedgeMs: number): void {
    const left = this.#deadline - this.#options.monotonic();
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, Math.min(hedgeMs, left)));
  }

  #tick(): void {
    if (this.#over) return;
    const now = this.#options.monotonic();
    if (now >= this.#deadline) {
      // To show that an answer is not its own takes a proxy about as long as that answer.
      const proofMs = Math.max(0, ...[...this.#canaries.keys()].map(({ tookMs }) => tookMs));
      if (proofMs > now - this.#deadline && this.#deadline === this.#endsAt) {
        this.#deadline += proofMs;
        this.#wait(proofMs);
        return;
      }
      // One that keeps back whether its answer is its own has not answered.
      for (const canary of this.#canaries.values()) canary.cancel();
      const late = [...this.#running, ...this.#canaries.keys()];
      this.#running.clear();
      this.#canaries.clear();
      for (const attempt of late) {
        this.#doubtful.delete(attempt);
        attempt.cancel();
        this.#blame(attempt.member, 'timeout');
      }
      this.#settle(true);
      return;
    }
    const width = this.#wish.wide && !this.#lane.learned ? COLD_WIDTH : 1;
    if (this.#isLeft && !this.#isLocked && (this.#mayMove || this.#lane.hedges.take())) {
      this.#mayMove = false;
      for (let place = 0; place < width; place++) this.#try('last');
    }
    this.#wait(this.#hedgeMs);
  }

  /** Nothing is pending any more: a doubtful answer is better than none, and than the next group. */
  #settle(timedOut: boolean): void {
    const [best] = this.#doubtful.keys();
    if (best) {
      this.#win(best, { doubtful: true, isLast: true });
      return;
    }
    clearTimeout(this.#timer);
    if (this.#groups.length > 0) {
      this.#begin();
      return;
    }
    this.cancel();
    this.#onEnd(null, this.#tries, this.#isLocked && !timedOut);
  }

  /** Reports whether equal answers are the target's. Proxies of which nothing is known may all answer with their own. */
  #isTargets(alike: readonly Attempt[], refusal: boolean): boolean {
    const upstreams = alike.map(({ member }) => member.upstream);
    if (refusal) return new Set(upstreams.map(exitOf)).size >= REFUSED_ALIKE;
    if (upstreams.some((upstream) => this.#lane.trusts(upstream))) return upstreams.length >= ALIKE;
    return upstreams.length > ALIKE && upstreams.some((upstream) => this.#lane.knows(upstream));
  }

  /** `isLast`: nothing else can be delivered. */
  #win(attempt: Attempt, { doubtful = false, agreed = false, isLast = false } = {}): void {
    const { session } = this.#wish.admission;
    const { member } = attempt;
    this.#doubtful.delete(attempt);
    // What its own exit has answered is delivered, even if the session has left it meanwhile.
    const hasLeft = member.key === this.#own && session?.pinned !== this.#own;
    if (session && !hasLeft && !session.pin(member.upstream, this.#pinned) && !isLast) {
      // Another request of the session has found an exit meanwhile, which is now that of all.
      attempt.cancel();
      this.#pinned = session.pinned;
      this.#replace();
      return;
    }
    // What they answered was not the target's, or for themselves alone.
    for (const [other, { refusal }] of doubtful ? [] : this.#doubtful) {
      if (this.#canaries.has(other)) continue;
      if (refusal) this.#lane.refused(this.#site, other.member.upstream);
      else this.#blame(other.member, 'declined');
    }
    // Anyone can send a prepared ServerHello.
    this.#conclude(!doubtful && this.#lane.trusts(member.upstream));
    // Those that have not answered after this time had enough of it.
    const enough = this.#options.monotonic() - this.#hedgeMs;
    const slower = [...this.#running].filter(({ startedAt }) => startedAt <= enough);
    this.cancel();
    this.#onEnd({ attempt, doubtful, agreed, slower: slower.map((slow) => slow.member) }, this.#tries, false);
  }

  cancel(): void {
    this.#over = true;
    this.#conclude(false);
    clearTimeout(this.#timer);
    for (const attempt of [...this.#doubtful.keys(), ...this.#running, ...this.#canaries.values()])
      attempt.cancel();
    this.#running.clear();
    this.#doubtful.clear();
    this.#canaries.clear();
  }
}
