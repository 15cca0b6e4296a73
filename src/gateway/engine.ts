import { BoundedMap } from '../lib/bounded-map.ts';
import { createAgreement, type Witness } from '../proxy/targets/testimony.ts';
import type { Tcp } from '../runtime/tcp.ts';
import { type Common, Evidence } from './evidence.ts';
import type { Suits } from './lane.ts';
import { type OnEnd, Race, type Running, raceInTurn, type Wish } from './race.ts';
import { createRoster, exitOf, type Kind, type Upstream } from './upstream.ts';

export interface EngineOptions extends Omit<Common, 'rosters' | 'agreed'> {
  tcp: Pick<Tcp, 'dial'>;
  /** Maximum number of upstreams tried for one request. */
  tries: number;
  /** Time limit for an answer. */
  timeoutMs: number;
}

/** Beyond this, the least recently used account is forgotten. */
const MOST_ACCOUNTS = 1_000;
const KINDS = ['tunnel', 'plain'] as const;

/** Knows the upstreams, and what each account has seen of them, and finds one that answers. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #common: Common;
  readonly #accounts = new BoundedMap<string, Evidence>(MOST_ACCOUNTS);

  constructor(options: EngineOptions) {
    const { random, monotonic } = options;
    this.#options = options;
    this.#common = {
      ...options,
      rosters: { tunnel: createRoster(random), plain: createRoster(random) },
      agreed: { tunnel: createAgreement(monotonic), plain: createAgreement(monotonic) },
    };
  }

  /** Returns what an account has seen of the upstreams. */
  evidenceOf(witness: Witness): Evidence {
    const known = this.#accounts.get(witness.id) ?? new Evidence(this.#common, witness);
    this.#accounts.set(witness.id, known);
    return known;
  }

  /** Adds an upstream, or replaces what is known about it. */
  set(upstream: Upstream): void {
    const { rosters } = this.#common;
    const known = rosters.tunnel.get(upstream.key) ?? rosters.plain.get(upstream.key);
    // Lanes that know it go by what is new.
    const current = known ? Object.assign(known, upstream, { works: known.works }) : upstream;
    for (const kind of KINDS) {
      if (current.carries[kind]) rosters[kind].set(current);
      else rosters[kind].delete(current.key);
    }
  }

  delete(key: string): void {
    for (const kind of KINDS) {
      const known = this.#common.rosters[kind].get(key);
      if (known) known.carries = { tunnel: false, plain: false };
      this.#common.rosters[kind].delete(key);
    }
  }

  /** Returns all upstreams of a kind. */
  upstreams(kind: Kind): Iterable<Upstream> {
    return this.#common.rosters[kind];
  }

  /** Returns the number of exits that have worked for anyone, as far as the latest news goes, and of all others. */
  exits(): { trusted: number; unproven: number } {
    const trusted = new Set<string>();
    const all = new Set<string>();
    for (const kind of KINDS) {
      for (const upstream of this.#common.rosters[kind]) {
        all.add(exitOf(upstream));
        if (upstream.works) trusted.add(exitOf(upstream));
      }
    }
    return { trusted: trusted.size, unproven: all.size - trusted.size };
  }

  /** Races the upstreams of one group of lists after the other, and those of a session after its exit. */
  find(wish: Wish, onEnd: OnEnd): Running {
    const { account, suits, sources = [null], session } = wish.admission;
    const evidence = this.evidenceOf(account);
    evidence.hedges[wish.kind].request();
    const tried = new Set<string>();
    // The exit of a session must carry whatever comes next.
    const fits: Suits = session ? (one, kind) => one.carries.tunnel && suits(one, kind) : suits;
    const begin = (names: ReadonlySet<string> | null, timeoutMs: number, onGroupEnd: OnEnd) => {
      const among: Suits = names ? (one, kind) => names.has(one.source) && fits(one, kind) : fits;
      return new Race({ ...this.#options, evidence, wish, suits: among, tried, timeoutMs }, onGroupEnd);
    };
    return raceInTurn(sources, this.#options.timeoutMs, begin, onEnd);
  }
}
