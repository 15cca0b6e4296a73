import { type Kind, keyOf } from '../discovery/key.ts';
import type { Pass } from '../discovery/pass.ts';
import { createRows, type Rows } from '../discovery/rows.ts';
import type { Login } from '../login.ts';
import type { Logins } from '../logins.ts';
import { type Dialled, type Endpoint, PROTOCOLS } from '../proxy.ts';
import { createSeen } from '../sources/seen.ts';

/** `none`: not now. */
export type Rank = 'good' | 'due' | 'dead' | 'none';

/** What one refresh has to do with: proxies of the pool, and what the lists name besides, each endpoint once. */
export interface Candidates {
  /** A proxy of the pool, which no list makes new. `rank` says whether and when it has its turn. */
  addKnown(endpoint: Dialled, rank: Rank): void;
  /**
   * An entry of a list. True when it is new: neither the pool, nor this pass or the one before, nor another list of
   * this refresh had it.
   */
  add(source: number, kind: Kind, ip: string, port: number, said: Said): boolean;
  isKnown(endpoint: Endpoint): boolean;
  known(rank: Rank): readonly Dialled[];
  /** Proxies of the pool for which a list names another login than the pool has. */
  changed(): readonly (Endpoint & { login: Login })[];
  /** How many proxies of the pool were added. */
  readonly pool: number;
  /** What lists name and nobody tried yet. */
  readonly fresh: Rows;
  /** What only an earlier pass has tried. */
  readonly again: Rows;
}

/** What a list says besides. */
interface Said {
  country: string | null;
  login: Login | null;
}

/** More than all public lists together name; beyond it a list's entries wait for a later refresh. */
const MOST = 3_000_000;

export function createCandidates(pass: Pick<Pass, 'noveltyOf' | 'placeOf'>, logins: Logins): Candidates {
  const seen = createSeen();
  const named = createSeen();
  /** Logins that the pool has, by key. */
  const stored = new Map<number, Login>();
  const changed = new Map<number, Endpoint & { login: Login }>();
  const ranked: Record<Rank, Dialled[]> = { good: [], due: [], dead: [], none: [] };
  const fresh = createRows();
  const again = createRows();
  let pool = 0;
  /** With more than fit, those that come late in this pass are left for a later refresh. */
  let end = 1;

  function makeRoom(): void {
    end /= 2;
    for (const rows of [fresh, again]) rows.keep((key) => pass.placeOf(key) < end);
  }

  /** Notes what changes for the pool. True if a proxy may be another one than was tried. */
  function offer(ip: string, port: number, login: Login): boolean {
    for (const protocol of PROTOCOLS) {
      const key = keyOf(protocol, ip, port);
      if (!seen.has(key)) continue;
      if (stored.get(key) === login) changed.delete(key);
      else changed.set(key, { protocol, ip, port, login });
    }
    return logins.offer({ ip, port }, login);
  }

  return {
    addKnown({ protocol, ip, port, login = null }, rank) {
      pool++;
      const key = keyOf(protocol, ip, port);
      seen.add(key);
      if (login !== null) stored.set(key, login);
      if (rank !== 'none') ranked[rank].push({ protocol, ip, port, login });
    },
    add(source, kind, ip, port, { country, login }) {
      const isNews = login !== null && offer(ip, port, login);
      const key = keyOf(kind, ip, port);
      if (kind === 'any' ? PROTOCOLS.some((one) => seen.has(keyOf(one, ip, port))) : seen.has(key))
        return false;
      const novelty = isNews ? 'new' : pass.noveltyOf(key);
      if (novelty === 'tried' || (end < 1 && pass.placeOf(key) >= end)) return false;
      if (!named.add(key)) return false;
      (novelty === 'new' ? fresh : again).add({ key, kind, ip, port, source, country });
      if (fresh.size + again.size >= MOST) makeRoom();
      return novelty === 'new';
    },
    isKnown: ({ protocol, ip, port }) => seen.has(keyOf(protocol, ip, port)),
    known: (rank) => ranked[rank],
    changed: () => [...changed.values()],
    get pool() {
      return pool;
    },
    fresh,
    again,
  };
}
