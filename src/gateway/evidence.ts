import type { Bans } from '../proxy/targets/bans.ts';
import type { Testimony, Witness } from '../proxy/targets/testimony.ts';
import { Hedges } from './hedges.ts';
import { Lane, type LaneCommon, type Leaning, type Member } from './lane.ts';
import type { Meter } from './meter.ts';
import { exitOf, type Failure, type Upstream } from './upstream.ts';
import type { Visits } from './visits.ts';

/** What the evidence of all accounts is made of, and told to. */
export interface Common extends LaneCommon {
  /** What several accounts agree on. */
  agreed: { note(key: string, account: string, good: boolean): unknown };
  visits: (account: string, site: string) => Visits;
  /** What is known about which proxy reaches which site. */
  testimony: Testimony;
  /** Which exits are shut out of which site. */
  bans: Bans;
  meter: Meter;
  /** Called when an upstream has failed, so that it can be checked. */
  onFailure: (upstream: Upstream, failure: Failure) => void;
}

interface Success {
  site: string;
  tookMs: number;
  slower: readonly Member[];
}

/**
 * What one account has seen of the upstreams that carry one kind of traffic, besides what several accounts agree on.
 * What it says or does changes nothing for another one.
 */
export class Evidence {
  readonly lane: Lane;
  /** When further upstreams are tried, learnt from those that have delivered. */
  readonly hedges = new Hedges();
  readonly #common: Common;
  readonly #witness: Witness;

  constructor(common: Common, witness: Witness) {
    this.#common = common;
    this.#witness = witness;
    this.lane = new Lane(common, witness.id);
  }

  /** Reports whether an upstream is known to deliver what targets answer. */
  knows(upstream: Upstream): boolean {
    return (upstream.proven && upstream.carries[this.#common.kind]) || this.lane.trusts(upstream);
  }

  /**
   * Credits an upstream that has delivered from a site, and had answered `tookMs` after its dial, before those that
   * were slower.
   */
  worked(member: Member, { site, tookMs, slower }: Success): void {
    this.lane.succeeded(member, tookMs);
    for (const other of slower) this.lane.outrun(other);
    this.hedges.observe(site, tookMs);
    this.#agree(member, true);
  }

  failed(member: Member, why: Failure): void {
    const { kind, meter, onFailure } = this.#common;
    this.lane.failed(member, why);
    this.#agree(member, false);
    meter.failed(kind, why);
    onFailure(member.upstream, why);
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

  /** Returns what a choice for a site considers. `rated`: the site whose results decide. */
  leaningAt(site: string, rated: string): Pick<Leaning, 'visits' | 'chance' | 'avoid'> {
    const { testimony, bans, visits } = this.#common;
    const draw = testimony.drawAt(this.#witness, rated);
    return {
      visits: visits(this.#witness.id, site),
      chance: draw && ((member) => draw(member.key, this.lane.score(member))),
      avoid: bans.at(this.#witness, site),
    };
  }

  #agree({ upstream }: Member, good: boolean): void {
    upstream.works = good;
    this.#common.agreed.note(upstream.key, this.#witness.id, good);
  }
}
