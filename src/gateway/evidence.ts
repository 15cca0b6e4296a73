import { BoundedMap } from '../lib/bounded-map.ts';
import type { Bans } from '../proxy/targets/bans.ts';
import { createAgreement, type Testimony, type Witness } from '../proxy/targets/testimony.ts';
import { createHedges, type Hedges } from './hedges.ts';
import { type Avoids, Lane, type Member } from './lane.ts';
import { createRoster, exitOf, type Failure, type Kind, type Roster, type Upstream } from './upstream.ts';
import { createVisits, type Visits } from './visits.ts';

/** What one account has seen of the upstreams, besides what several accounts agree on. */
export interface Evidence {
  readonly lanes: Record<Kind, Lane>;
  /** When further upstreams are tried, learnt from those that have delivered. */
  readonly hedges: Record<Kind, Hedges>;
  /** Returns when a site has seen the exits. */
  visits(site: string): Visits;
  /**
   * Credits an upstream that has delivered from a site, and had answered `ms` after its dial, before those that were
   * slower.
   */
  worked(kind: Kind, member: Member, success: Success): void;
  failed(kind: Kind, member: Member, why: Failure): void;
  /** Records whether an upstream reached the site that was really connected to. */
  reached(site: string, key: string, reached: boolean): void;
  /** Shuts out the exit of an upstream at a site that has refused it. */
  refused(site: string, upstream: Upstream): void;
  /** Returns the test, by key, for upstreams whose exits are shut out at a site. */
  avoidsAt(site: string, kind: Kind): Avoids | undefined;
  /** Returns the chance, 0 to 1, that a member reaches the site, or `undefined` if nothing is known about the site. */
  chanceAt(site: string, kind: Kind): ((member: Member) => number) | undefined;
}

interface Success {
  site: string;
  tookMs: number;
  slower: readonly Member[];
}

interface EvidenceOptions {
  testimony: Testimony;
  bans: Bans;
  /** 0 to 1. */
  random: () => number;
  monotonic: () => number;
}

/** An upstream that has just left. */
const GONE = { key: '', ip: '', exitIp: null, login: null };
/** Beyond this, the least recently used account is forgotten. */
const MOST_ACCOUNTS = 1_000;

/** The evidence of all accounts. What one of them says or does changes nothing for another one. */
export interface EvidenceBook {
  readonly rosters: Record<Kind, Roster>;
  /** Adds an upstream, or replaces what is known about it. */
  set(upstream: Upstream): void;
  delete(key: string): void;
  of(witness: Witness): Evidence;
  /** Returns the exits that work, as anyone has seen, and all others. */
  exits(): { trusted: number; unproven: number };
}

export function createEvidence({ testimony, bans, random, monotonic }: EvidenceOptions): EvidenceBook {
  const rosters = { tunnel: createRoster(random), plain: createRoster(random) };
  const agreed = { tunnel: createAgreement(monotonic), plain: createAgreement(monotonic) };
  const accounts = new BoundedMap<string, Evidence>(MOST_ACCOUNTS);

  function evidenceOf(witness: Witness): Evidence {
    const { id } = witness;
    const laneOf = (kind: Kind) =>
      new Lane({ kind, random, monotonic, roster: rosters[kind], opinion: agreed[kind].opinion });
    const lanes = { tunnel: laneOf('tunnel'), plain: laneOf('plain') };
    const hedges = { tunnel: createHedges(), plain: createHedges() };
    return {
      lanes,
      hedges,
      visits: createVisits(),
      worked(kind, member, { site, tookMs, slower }) {
        lanes[kind].succeeded(member, tookMs);
        for (const other of slower) lanes[kind].outrun(other);
        hedges[kind].observe(site, tookMs);
        agreed[kind].note(member.upstream.key, id, true);
      },
      failed(kind, member, why) {
        lanes[kind].failed(member, why);
        agreed[kind].note(member.upstream.key, id, false);
      },
      reached: (site, key, reached) => testimony.observe(witness, site, key, reached),
      refused(site, upstream) {
        bans.refused(witness, site, exitOf(upstream));
        testimony.observe(witness, site, upstream.key, false);
      },
      avoidsAt(site, kind) {
        const isOut = bans.at(witness, site);
        const exit = (key: string) => exitOf(rosters[kind].get(key) ?? GONE);
        return isOut && ((key) => isOut(exit(key)));
      },
      chanceAt(site, kind) {
        const draw = testimony.drawAt(witness, site);
        return draw && ((member) => draw(member.upstream.key, lanes[kind].score(member)));
      },
    };
  }

  return {
    rosters,
    set(upstream) {
      for (const kind of ['tunnel', 'plain'] as const) {
        if (upstream.carries[kind]) rosters[kind].set(upstream);
        else rosters[kind].delete(upstream.key);
      }
    },
    delete(key) {
      for (const roster of [rosters.tunnel, rosters.plain]) roster.delete(key);
    },
    exits() {
      const trusted = new Set<string>();
      for (const { lanes } of accounts.values())
        for (const lane of [lanes.tunnel, lanes.plain])
          for (const { upstream } of lane.trusted) trusted.add(exitOf(upstream));
      const all = new Set([...rosters.tunnel, ...rosters.plain].map(exitOf));
      return { trusted: all.intersection(trusted).size, unproven: all.difference(trusted).size };
    },
    of(witness) {
      const known = accounts.get(witness.id) ?? evidenceOf(witness);
      accounts.set(witness.id, known);
      return known;
    },
  };
}
