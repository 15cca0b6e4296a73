import type { Tcp, TcpSocket } from '../runtime/tcp.ts';
import { Attempt, type Doubt, type Plan } from './attempt.ts';
import type { Canary } from './canary.ts';
import type { Lane, Leaning, Member, Suits } from './lane.ts';
import type { Target } from './target.ts';
import { exitOf, type Failure, type Upstream } from './upstream.ts';

export interface RaceOptions {
  tcp: Pick<Tcp, 'dial'>;
  lane: Lane;
  target: Target;
  suits: Suits;
  leaning: Leaning;
  planFor: (upstream: Upstream) => Plan;
  /** Returns an open connection through the upstream to the target. */
  idleFor?: ((upstream: Upstream) => TcpSocket | undefined) | undefined;
  /**
   * Returns a request that proves that an answer of the upstream is not its own. Default: only equal answers of several
   * prove that.
   */
  canaryFor?: ((upstream: Upstream) => Canary) | undefined;
  /** Number of upstreams tried at once from the start: one, and others that are not known to work. */
  width: number;
  /** The first is one that is not known to work, which another joins after this time. Default: one that works. */
  joinMs?: number | undefined;
  /** Maximum number of upstreams tried. */
  tries: number;
  /** After this time without an answer, one more is tried. */
  hedgeMs: number;
  /** Reports whether one more may be tried while others are pending. */
  mayHedge: () => boolean;
  /** Time limit for an answer. */
  timeoutMs: number;
  monotonic: () => number;
  /** Called for each attempt; `hedged`: while others are pending. */
  onTry: (member: Member, hedged: boolean) => void;
  onFailure: (member: Member, failure: Failure) => void;
  /** Called for those that the site refused, although it let in the winner. */
  onRefused?: (member: Member) => void;
}

export interface RaceResult {
  attempt: Attempt;
  member: Member;
  /** Since the winner was dialled. */
  tookMs: number;
  /** True if the answer proves nothing of this upstream: it may be its own, or only equal to that of another. */
  doubtful: boolean;
  /** Those that were slower, although they had enough time. */
  slower: Member[];
}

/** Called with the winner or `null`, the number of attempts, and whether the time limit has ended it. */
export type OnEnd = (result: RaceResult | null, tries: number, timedOut: boolean) => void;

export interface Race {
  /** Cancels all attempts, without further callbacks. */
  cancel(): void;
}

/** Number of upstreams with the same doubtful answer, one of them known to work, after which it is the target's. */
const ALIKE = 2;
/** Number of exits with the same refusal after which it counts as the site's answer to everyone. */
const REFUSED_ALIKE = 3;

/**
 * Tries upstreams until one delivers an answer, and calls back once: with the winner, or with `null`, and the number
 * of attempts. A failed attempt is replaced at once; without any answer, one more is added from time to time.
 */
export function race(options: RaceOptions, onEnd: OnEnd): Race {
  const contest = new Contest(options, onEnd);
  contest.begin();
  return contest;
}

interface Doubtful {
  attempt: Attempt;
  member: Member;
  doubt: Doubt;
  tookMs: number;
  /** Whether it is being found out whether the answer is the proxy's own. */
  isAsked: boolean;
}

class Contest implements Race {
  readonly #options: RaceOptions;
  readonly #onEnd: OnEnd;
  readonly #running = new Map<Attempt, Member>();
  /** Answers that may be the proxy's own, with their look. */
  readonly #doubtful: Doubtful[] = [];
  /** Questions for a host that does not exist. */
  readonly #canaries = new Set<Attempt>();
  readonly #tried = new Set<string>();
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #deadline = 0;
  /** Those that have not answered after this time had enough of it. */
  #enoughMs: number;
  #over = false;

  constructor(options: RaceOptions, onEnd: OnEnd) {
    this.#options = options;
    this.#enoughMs = options.hedgeMs;
    this.#onEnd = onEnd;
  }

  begin(): void {
    const { width, timeoutMs, joinMs, monotonic, lane } = this.#options;
    this.#deadline = monotonic() + timeoutMs;
    const first = this.#try(joinMs === undefined ? 'last' : 'first');
    for (let place = 1; place < width; place++) this.#try('only');
    if (joinMs !== undefined && first && !lane.trusts(first.upstream)) this.#enoughMs = joinMs;
    if (this.#running.size === 0) this.#settle();
    else this.#wait(this.#enoughMs);
  }

  cancel(): void {
    this.#end();
  }

  answered(attempt: Attempt, doubt: Doubt | null): void {
    const member = this.#running.get(attempt);
    if (this.#over || !member) return;
    if (doubt === null) {
      this.#win(attempt, member);
      return;
    }
    const { mayBeOwn, refusal } = doubt;
    const canary = mayBeOwn ? this.#options.canaryFor?.(member.upstream) : undefined;
    const tookMs = this.#options.monotonic() - attempt.startedAt;
    const doubtful = { attempt, member, doubt, tookMs, isAsked: canary !== undefined };
    const alike = [doubtful, ...this.#doubtful].filter((other) => other.doubt.look === doubt.look);
    if (canary === undefined && this.#isTargets(alike, refusal)) {
      this.#win(attempt, member, { doubtful: true });
      return;
    }
    this.#running.delete(attempt);
    this.#doubtful.push(doubtful);
    if (canary === undefined) this.#replace();
    else this.#prove(doubtful, canary);
  }

  failed(attempt: Attempt, failure: Failure): void {
    const member = this.#running.get(attempt);
    if (this.#over || !member) return;
    this.#running.delete(attempt);
    member.busy--;
    this.#options.onFailure(member, failure);
    this.#replace();
  }

  /** Finds out whether a doubtful answer is one that the proxy gives to everything. */
  #prove(doubtful: Doubtful, { target, plan }: Canary): void {
    const { tcp, monotonic } = this.#options;
    const { attempt, member, doubt, tookMs } = doubtful;
    const { look, refusal } = doubt;
    const learn = (canary: Attempt, isOwn: boolean) => {
      canary.cancel();
      if (!this.#canaries.delete(canary)) return;
      this.#doubtful.splice(this.#doubtful.indexOf(doubtful), 1);
      this.#running.set(attempt, member);
      // It is the target's, and may still be meant for this exit alone.
      if (!isOwn && refusal) this.answered(attempt, { look: look.slice(0, 3), mayBeOwn: false, refusal });
      else if (!isOwn) this.#win(attempt, member, { tookMs });
      else {
        attempt.cancel();
        this.failed(attempt, 'page');
      }
    };
    const events = {
      answered: (canary: Attempt, seen: Doubt | null) =>
        learn(canary, seen === null || seen.look === look || Number.parseInt(seen.look, 10) < 400),
      failed: (canary: Attempt, failure: Failure) => learn(canary, failure === 'page'),
    };
    this.#canaries.add(new Attempt(tcp, member.upstream, target, { plan, events, now: monotonic() }));
  }

  #replace(): void {
    this.#try('last');
    if (this.#running.size === 0 && this.#canaries.size === 0) this.#settle();
  }

  #try(unknown: 'last' | 'first' | 'only'): Member | undefined {
    const { lane, leaning, tries, suits, tcp, target, planFor, idleFor, monotonic, onTry } = this.#options;
    if (this.#tries >= tries) return undefined;
    const untried: Suits = (upstream, kind) => !this.#tried.has(upstream.key) && suits(upstream, kind);
    const member = lane.choose(untried, leaning, unknown);
    if (!member) return undefined;
    this.#tries++;
    this.#tried.add(member.upstream.key);
    member.busy++;
    onTry(member, this.#running.size > 0);
    const plan = planFor(member.upstream);
    const idle = idleFor?.(member.upstream);
    this.#running.set(
      new Attempt(tcp, member.upstream, target, { plan, events: this, now: monotonic(), idle }),
      member,
    );
    return member;
  }

  /** Sets the timer to the next hedge or the end. */
  #wait(hedgeMs: number): void {
    const left = this.#deadline - this.#options.monotonic();
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, Math.min(hedgeMs, left)));
  }

  #tick(): void {
    const { monotonic, tries, mayHedge } = this.#options;
    if (this.#over) return;
    if (monotonic() >= this.#deadline) {
      for (const [attempt, member] of this.#running) {
        attempt.cancel();
        member.busy--;
        this.#options.onFailure(member, 'timeout');
      }
      this.#running.clear();
      this.#settle(true);
      return;
    }
    if (this.#tries < tries && mayHedge()) this.#try('last');
    this.#wait(this.#options.hedgeMs);
  }

  /** Nothing is pending any more: a doubtful answer is better than none. */
  #settle(timedOut = false): void {
    const best = this.#doubtful.shift();
    if (best) {
      this.#running.set(best.attempt, best.member);
      this.#win(best.attempt, best.member, { doubtful: true });
      return;
    }
    this.#end();
    this.#onEnd(null, this.#tries, timedOut);
  }

  /** Reports whether equal answers are the target's. Proxies of which nothing is known may all answer with their own. */
  #isTargets(alike: readonly Doubtful[], refusal: boolean): boolean {
    const { lane } = this.#options;
    const upstreams = alike.map(({ member }) => member.upstream);
    if (refusal) return new Set(upstreams.map(exitOf)).size >= REFUSED_ALIKE;
    const isKnown = (upstream: Upstream) => upstream.proven[lane.kind] || lane.trusts(upstream);
    return upstreams.length >= ALIKE && upstreams.some(isKnown);
  }

  #win(attempt: Attempt, member: Member, facts: Partial<RaceResult> = {}): void {
    const now = this.#options.monotonic();
    this.#running.delete(attempt);
    // What they answered was not the target's, or for themselves alone.
    for (const { member, isAsked, doubt } of facts.doubtful ? [] : this.#doubtful) {
      if (isAsked) continue;
      if (doubt.refusal) this.#options.onRefused?.(member);
      else this.#options.onFailure(member, 'declined');
    }
    const slower = [...this.#running]
      .filter(([other]) => now - other.startedAt >= this.#enoughMs)
      .map(([, slow]) => slow);
    this.#end();
    const result = { tookMs: now - attempt.startedAt, doubtful: false, ...facts };
    this.#onEnd({ attempt, member, slower, ...result }, this.#tries, false);
  }

  #end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    for (const [attempt, member] of this.#running) {
      attempt.cancel();
      member.busy--;
    }
    for (const { attempt, member } of this.#doubtful) {
      attempt.cancel();
      member.busy--;
    }
    for (const canary of this.#canaries) canary.cancel();
    this.#running.clear();
    this.#doubtful.length = 0;
    this.#canaries.clear();
  }
}
