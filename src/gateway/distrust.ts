import { BoundedMap } from '../lib/bounded-map.ts';
import { exitOf, type Upstream } from './upstream.ts';

/** Number of exits through which clients distrust a target before that is put down to the target. */
const ALIKE = 3;
/** Number of targets that are remembered for an account. */
const MOST_TARGETS = 100;

interface Seen<M> {
  /** The exits through which clients did not trust it since they last did. */
  exits: Set<string>;
  blamed: Set<M>;
  /** It has no certificate that its clients trust, through whatever exit. */
  isItsOwn: boolean;
}

/**
 * Tells proxies that show a false certificate from targets whose own is not trusted, such as an expired one. A failed
 * handshake says only that one of both is at fault.
 */
export class Distrust<M extends { upstream: Upstream }> {
  readonly #targets = new BoundedMap<string, Seen<M>>(MOST_TARGETS);

  /**
   * Notes that a client did not trust a target, and returns whom to absolve; `null` if the member is to blame.
   * `working`: how many others are left; of two that work, both are enough.
   */
  note(target: string, member: M, isKnown: boolean, working: number): M[] | null {
    const seen: Seen<M> = this.#targets.get(target) ?? {
      exits: new Set(),
      blamed: new Set(),
      isItsOwn: false,
    };
    this.#targets.set(target, seen);
    // Of those that nobody has seen work, most may show false ones.
    if (isKnown) seen.exits.add(exitOf(member.upstream));
    seen.isItsOwn ||= seen.exits.size >= Math.min(ALIKE, Math.max(2, working + seen.blamed.size));
    if (!seen.isItsOwn) {
      seen.blamed.add(member);
      return null;
    }
    const absolved = [...seen.blamed];
    seen.blamed.clear();
    seen.exits.clear();
    return absolved;
  }

  /** Ends what is held against a target, because a client has trusted it. */
  trusted(target: string): void {
    this.#targets.delete(target);
  }
}
