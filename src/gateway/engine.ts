import { BoundedMap } from '../lib/bounded-map.ts';
import { OwnedMap } from '../lib/owned-map.ts';
import { type Bans, createBans } from '../proxy/targets/bans.ts';
import { createAgreement, type Witness } from '../proxy/targets/testimony.ts';
import { Draw } from './draw.ts';
import { type Common, Lane, type Member } from './lane.ts';
import { type OnEnd, Race, type RaceOptions, type Wish } from './race.ts';
import { exitOf, type Kind, type Upstream } from './upstream.ts';
import { createVisits } from './visits.ts';

export type EngineOptions = Pick<Common, 'testimony' | 'onFailure' | 'random'> &
  Omit<RaceOptions, 'upstreamOf'>;

/** Beyond this, the least recently used account is forgotten. */
const MOST_ACCOUNTS = 1_000;
/** Upstreams whose results are remembered for one kind of traffic, of all accounts. */
const MOST_KNOWN = 100_000;
const KINDS = ['tunnel', 'plain'] as const;

/** Knows the upstreams, and what each account has seen of them, and finds one that answers. */
export class Engine {
  readonly bans: Bans;
  /** Number of changes of upstreams. */
  changes = 0;
  readonly #options: RaceOptions;
  readonly #commons: Record<Kind, Common>;
  /** By account. */
  readonly #lanes: Record<Kind, BoundedMap<string, Lane>> = {
    tunnel: new BoundedMap(MOST_ACCOUNTS),
    plain: new BoundedMap(MOST_ACCOUNTS),
  };

  constructor(options: EngineOptions) {
    const { random, monotonic } = options;
    const visits = createVisits();
    const bans = createBans(monotonic);
    const commonOf = (kind: Kind): Common => {
      const known = new OwnedMap<Member>(MOST_KNOWN, (account, { key }) =>
        this.#lanes[kind].get(account)?.forget(key),
      );
      const agreed = createAgreement(monotonic);
      return { ...options, kind, visits, bans, agreed, known, roster: new Draw(random) };
    };
    this.bans = bans;
    this.#options = { ...options, upstreamOf: (key) => this.#upstreamOf(key) };
    this.#commons = { tunnel: commonOf('tunnel'), plain: commonOf('plain') };
  }

  /** Returns what an account has seen of the upstreams. */
  laneOf(kind: Kind, witness: Witness): Lane {
    const lane = this.#lanes[kind].get(witness.id) ?? new Lane(this.#commons[kind], witness);
    this.#lanes[kind].set(witness.id, lane);
    return lane;
  }

  /** Adds an upstream, or replaces what is known about it. One that carries nothing is forgotten. */
  set(upstream: Upstream): void {
    this.changes++;
    const known = this.#upstreamOf(upstream.key);
    // Lanes that know it go by what is new.
    const current = known ? Object.assign(known, upstream, { works: known.works }) : upstream;
    for (const kind of KINDS) {
      if (current.carries[kind]) this.#commons[kind].roster.set(current);
      else this.#commons[kind].roster.delete(current.key);
    }
  }

  /** Returns all upstreams, of one kind if it is given. */
  upstreams(...[kind]: [] | [Kind]): Iterable<Upstream> {
    const { tunnel, plain } = this.#commons;
    return kind ? this.#commons[kind].roster : new Set([...tunnel.roster, ...plain.roster]);
  }

  /** Returns the number of exits that have worked for anyone, as far as the latest news goes, and of all others. */
  exits(): { trusted: number; unproven: number } {
    const all = [...this.upstreams()];
    const trusted = new Set(all.filter(({ works }) => works).map(exitOf)).size;
    return { trusted, unproven: new Set(all.map(exitOf)).size - trusted };
  }

  /** Races upstreams for a wish. */
  find(wish: Wish, onEnd: OnEnd): Race {
    return new Race(this.#options, this.laneOf(wish.kind, wish.admission.account), wish, onEnd);
  }

  #upstreamOf(key: string): Upstream | undefined {
    return this.#commons.tunnel.roster.get(key) ?? this.#commons.plain.roster.get(key);
  }
}
