import type { Tcp, TcpSocket } from '../runtime/tcp.ts';
import { Attempt, type Plan } from './attempt.ts';
import type { Avoids, Lane, Member, Suits } from './lane.ts';
import type { Target } from './target.ts';
import type { Failure, Upstream } from './upstream.ts';

export interface RaceOptions {
  tcp: Pick<Tcp, 'dial'>;
  lane: Lane;
  target: Target;
  suits: Suits;
  /** Returns the chance, 0 to 1, that a member reaches the target. Default: as that of any target. */
  chance?: ((member: Member) => number) | undefined;
  /** Reports which upstreams are taken only if no other one that works is left. */
  avoid?: Avoids | undefined;
  planFor: (upstream: Upstream) => Plan;
  /** Returns an open connection through the upstream to the target. */
  idleFor?: ((upstream: Upstream) => TcpSocket | undefined) | undefined;
  /** Number of upstreams tried at once from the start. */
  width: number;
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
  onTry: (hedged: boolean) => void;
  onFailure: (member: Member, failure: Failure) => void;
}

export interface RaceResult {
  attempt: Attempt;
  member: Member;
  /** Since the winner was dialled. */
  tookMs: number;
  /** True if it was not certain that this is the target's answer, but there was no better one. */
  doubtful: boolean;
  /** Those that were slower, although they had enough time. */
  slower: Member[];
  /** Those that delivered an answer of the same look. */
  alike: { member: Member; ms: number }[];
}

/** Called with the winner or `null`, and the number of attempts. */
export type OnEnd = (result: RaceResult | null, tries: number) => void;

export interface Race {
  /** Cancels all attempts, without further callbacks. */
  cancel(): void;
}

/** Number of upstreams with the same alert after which it counts as the target's. */
const ALIKE = 2;

/**
 * Tries upstreams until one delivers an answer, and calls back once: with the winner, or with `null`, and the number
 * of attempts. A failed attempt is replaced at once; without any answer, one more is added from time to time.
 */
export function race(options: RaceOptions, onEnd: OnEnd): Race {
  const contest = new Contest(options, onEnd);
  contest.begin();
  return contest;
}

class Contest implements Race {
  readonly #options: RaceOptions;
  readonly #onEnd: OnEnd;
  readonly #running = new Map<Attempt, Member>();
  /** Answers that may be the proxy's own, with their look. */
  readonly #doubtful: { attempt: Attempt; member: Member; look: string }[] = [];
  readonly #tried = new Set<string>();
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #deadline = 0;
  #over = false;

  constructor(options: RaceOptions, onEnd: OnEnd) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  begin(): void {
    const { width, timeoutMs, monotonic, lane } = this.#options;
    this.#deadline = monotonic() + timeoutMs;
    for (let place = 0; place < width; place++) this.#try(place > 0 && lane.learned);
    if (this.#running.size === 0) this.#settle();
    else this.#wait();
  }

  cancel(): void {
    this.#end();
  }

  answered(attempt: Attempt, look: string | null): void {
    const { monotonic } = this.#options;
    const member = this.#running.get(attempt);
    if (this.#over || !member) return;
    if (look === null) {
      this.#win(attempt, member, false);
      return;
    }
    const alike = this.#doubtful.filter((other) => other.look === look);
    if (alike.length + 1 >= ALIKE) {
      const now = monotonic();
      const others = alike.map((other) => ({ member: other.member, ms: now - other.attempt.startedAt }));
      this.#win(attempt, member, false, others);
      return;
    }
    this.#running.delete(attempt);
    this.#doubtful.push({ attempt, member, look });
    this.#replace();
  }

  failed(attempt: Attempt, failure: Failure): void {
    const member = this.#running.get(attempt);
    if (this.#over || !member) return;
    this.#running.delete(attempt);
    member.busy--;
    this.#options.onFailure(member, failure);
    this.#replace();
  }

  #replace(): void {
    this.#try(false);
    if (this.#running.size === 0) this.#settle();
  }

  #try(unknown: boolean): boolean {
    const { lane, tries, suits, tcp, target, planFor, idleFor, monotonic, onTry, chance, avoid } =
      this.#options;
    if (this.#tries >= tries) return false;
    const member = lane.choose((upstream, kind) => !this.#tried.has(upstream.key) && suits(upstream, kind), {
      unknown,
      chance,
      avoid,
    });
    if (!member) return false;
    this.#tries++;
    this.#tried.add(member.upstream.key);
    member.busy++;
    onTry(this.#running.size > 0);
    const plan = planFor(member.upstream);
    const idle = idleFor?.(member.upstream);
    this.#running.set(
      new Attempt(tcp, member.upstream, target, { plan, events: this, now: monotonic(), idle }),
      member,
    );
    return true;
  }

  /** Sets the timer to the next hedge or the end. */
  #wait(): void {
    const { hedgeMs, monotonic } = this.#options;
    const left = this.#deadline - monotonic();
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
      this.#settle();
      return;
    }
    if (this.#tries < tries && mayHedge()) this.#try(false);
    this.#wait();
  }

  /** Nothing is pending any more: a doubtful answer is better than none. */
  #settle(): void {
    const best = this.#doubtful.shift();
    if (best) {
      this.#running.set(best.attempt, best.member);
      this.#win(best.attempt, best.member, true);
      return;
    }
    this.#end();
    this.#onEnd(null, this.#tries);
  }

  #win(attempt: Attempt, member: Member, doubtful: boolean, alike: RaceResult['alike'] = []): void {
    const now = this.#options.monotonic();
    this.#running.delete(attempt);
    const slower = [...this.#running]
      .filter(([other]) => now - other.startedAt >= this.#options.hedgeMs)
      .map(([, slow]) => slow);
    this.#end();
    this.#onEnd({ attempt, member, tookMs: now - attempt.startedAt, doubtful, slower, alike }, this.#tries);
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
    this.#running.clear();
    this.#doubtful.length = 0;
  }
}
