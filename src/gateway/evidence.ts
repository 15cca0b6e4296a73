import type { Bans } from '../proxy/targets/bans.ts';
import type { createAgreement, Testimony, Witness } from '../proxy/targets/testimony.ts';
import { Hedges } from './hedges.ts';
import { Lane, type Member } from './lane.ts';
import type { Meter } from './meter.ts';
import { exitOf, type Failure, type Kind, type Roster, type Upstream } from './upstream.ts';
import { createVisits, type Visits } from './visits.ts';

/** What the evidence of all accounts is made of, and told to. */
export interface Common {
  /** All upstreams. */
  rosters: Record<Kind, Roster>;
  /** What several accounts agree on. */
  agreed: Record<Kind, ReturnType<typeof createAgreement>>;
  /** What is known about which proxy reaches which site. */
  testimony: Testimony;
  /** Which exits are shut out of which site. */
  bans: Bans;
  /** 0 to 1. */
  random: () => number;
  monotonic: () => number;
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
 * What one account has seen of the upstreams, besides what several accounts agree on. What it says or does changes
 * nothing for another one.
 */
export class Evidence {
  readonly lanes: Record<Kind, Lane>;
  /** When further upstreams are tried, learnt from those that have delivered. */
  readonly hedges: Record<Kind, Hedges> = { tunnel: new Hedges(), plain: new Hedges() };
  /** Returns when a site has seen the exits. */
  readonly visits: (site: string) => Visits = createVisits();
  readonly #common: Common;
  readonly #witness: Witness;

  constructor(common: Common, witness: Witness) {
    this.#common = common;
    this.#witness = witness;
    const { rosters, agreed, random, monotonic } = common;
    const laneOf = (kind: Kind) =>
      new Lane({ kind, random, monotonic, roster: rosters[kind], opinion: agreed[kind].opinion });
    this.lanes = { tunnel: laneOf('tunnel'), plain: laneOf('plain') };
  }

  /**
   * Credits an upstream that has delivered from a site, and had answered `tookMs` after its dial, before those that
   * were slower.
   */
  worked(kind: Kind, member: Member, { site, tookMs, slower }: Success): void {
    this.lanes[kind].succeeded(member, tookMs);
    for (const other of slower) this.lanes[kind].outrun(other);
    this.hedges[kind].observe(site, tookMs);
    this.#agree(kind, member, true);
  }

  failed(kind: Kind, member: Member, why: Failure): void {
    this.lanes[kind].failed(member, why);
    this.#agree(kind, member, false);
    this.#common.meter.failed(kind, why);
    this.#common.onFailure(member.upstream, why);
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

  /** Returns the test for exits that are shut out at a site, or `undefined` if none is. */
  shutOutAt(site: string): ((exit: string) => boolean) | undefined {
    return this.#common.bans.at(this.#witness, site);
  }

  /** Returns the chance, 0 to 1, that a member reaches the site, or `undefined` if nothing is known about the site. */
  chanceAt(site: string, kind: Kind): ((member: Member) => number) | undefined {
    const draw = this.#common.testimony.drawAt(this.#witness, site);
    return draw && ((member) => draw(member.upstream.key, this.lanes[kind].score(member)));
  }

  #agree(kind: Kind, { upstream }: Member, good: boolean): void {
    upstream.works = good;
    this.#common.agreed[kind].note(upstream.key, this.#witness.id, good);
  }
}
