import { type Kind, keyOf } from '../discovery/key.ts';
import type { Pass } from '../discovery/pass.ts';
import { createRows, type Rows } from '../discovery/rows.ts';
import { type Endpoint, PROTOCOLS } from '../proxy.ts';
import { createSeen } from '../sources/seen.ts';

/** `none`: not now. */
export type Rank = 'good' | 'due' | 'dead' | 'none';

/** What one refresh has to do with: proxies of the pool, and what the lists name besides, each endpoint once. */
export interface Candidates {
  /** A proxy of the pool, which no list makes new. `rank` says whether and when it has its turn. */
  addKnown(endpoint: Endpoint, rank: Rank): void;
  /**
   * An entry of a list. True when it is new: neither the pool, nor this pass or the one before, nor another list of
   * this refresh had it.
   */
  add(source: number, kind: Kind, ip: string, port: number, country: string | null): boolean;
  isKnown(endpoint: Endpoint): boolean;
  known(rank: Rank): readonly Endpoint[];
  /** How many proxies of the pool were added. */
  readonly pool: number;
  /** What lists name and nobody tried yet. */
  readonly fresh: Rows;
  /** What only an earlier pass has tried. */
  readonly again: Rows;
}

/** More than all public lists together name; beyond it a list's entries wait for a later refresh. */
const MOST = 3_000_000;

export function createCandidates(pass: Pick<Pass, 'noveltyOf' | 'placeOf'>): Candidates {
  const seen = createSeen();
  const named = createSeen();
  const ranked: Record<Rank, Endpoint[]> = { good: [], due: [], dead: [], none: [] };
  const fresh = createRows();
  const again = createRows();
  let pool = 0;
  /** With more than fit, those that come late in this pass are left for a later refresh. */
  let end = 1;

  function makeRoom(): void {
    end /= 2;
    for (const rows of [fresh, again]) rows.keep((key) => pass.placeOf(key) < end);
  }

  return {
    addKnown({ protocol, ip, port }, rank) {
      pool++;
      seen.add(keyOf(protocol, ip, port));
      if (rank !== 'none') ranked[rank].push({ protocol, ip, port });
    },
    add(source, kind, ip, port, country) {
      const key = keyOf(kind, ip, port);
      if (kind === 'any' ? PROTOCOLS.some((one) => seen.has(keyOf(one, ip, port))) : seen.has(key))
        return false;
      const novelty = pass.noveltyOf(key);
      if (novelty === 'tried' || (end < 1 && pass.placeOf(key) >= end)) return false;
      if (!named.add(key)) return false;
      (novelty === 'new' ? fresh : again).add({ key, kind, ip, port, source, country });
      if (fresh.size + again.size >= MOST) makeRoom();
      return novelty === 'new';
    },
    isKnown: ({ protocol, ip, port }) => seen.has(keyOf(protocol, ip, port)),
    known: (rank) => ranked[rank],
    get pool() {
      return pool;
    },
    fresh,
    again,
  };
}
