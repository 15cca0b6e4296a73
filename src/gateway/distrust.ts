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
  /** It has no certificate that its clients trust, or cuts its answers or sends none, through whatever exit. */
  isItsOwn: boolean;
  /** When a client last trusted it. */
  trustedAt: number;
  /** The lengths of the records that a content client got last. */
  records: string;
}

/**
 * Tells proxies that show a false certificate, or cut or swallow answers, from targets whose own certificate is not trusted,
 * such as an expired one, or whose own answers end or stay away. A failure says only that one of both is at fault.
 */
export class Distrust<M extends { upstream: Upstream }> {
  readonly #targets = new BoundedMap<string, Seen<M>>(MOST_TARGETS);

  /**
   * Notes that a client did not trust a target, and returns whom to absolve; `null` if the member is to blame.
   * `working`: how many others are left; of two that work, both are enough. `since`: when the target fell
   * silent or ended, if another client that has come to a good end meanwhile clears it.
   */
  note(target: string, member: M, isKnown: boolean, working: number, since = Number.POSITIVE_INFINITY) {
    const seen = this.#targets.get(target) ?? this.trusted(target, 0);
    this.#targets.set(target, seen);
    // Of those that nobody has seen work, most may show false ones.
    if (isKnown && since >= seen.trustedAt) seen.exits.add(exitOf(member.upstream));
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

  /** Returns what records a content client got last from a target. */
  recordsOf(target: string): string {
    return this.#targets.get(target)?.records ?? '';
  }

  /** Ends what is held against a target, because a client has trusted it. */
  trusted(target: string, trustedAt: number, got = ''): Seen<M> {
    const before = this.recordsOf(target);
    // One that has asked again before the answer came, or got tickets alone, leaves what is known.
    const records = before.startsWith(got) ? before : got;
    const seen = { exits: new Set<string>(), blamed: new Set<M>(), isItsOwn: false, trustedAt, records };
    this.#targets.set(target, seen);
    return seen;
  }
}
