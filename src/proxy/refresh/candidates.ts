import { createCrowd, createSeen, type Kind, keyOf } from '../discovery/key.ts';
import type { Pass } from '../discovery/pass.ts';
import { createRows } from '../discovery/rows.ts';
import type { Login } from '../login.ts';
import { isDoubted } from '../pool/history.ts';
import { createOtherLogins, type Logins } from '../pool/logins.ts';
import { type Dialled, type Endpoint, PROTOCOLS, type ProxyRecord } from '../proxy.ts';

/** A proxy of the pool. */
export type Known = Dialled & { lastChecked: number; doubted: boolean };

/** `none`: not to be checked now. */
export type Rank = 'good' | 'due' | 'dead' | 'none';

/** What else a list says about an entry. */
interface Said {
  country: string | null;
  login: Login | null;
  /** Whether the list is the operator's own, and may name any number of ports. */
  isOwn?: boolean | undefined;
}

/** More than all public lists have together. Entries beyond it wait for a later refresh. */
const MOST = 3_000_000;

/** Maximum number of entries of one address in all public lists together: more would be a scan of its ports. */
const MOST_OF_ADDRESS = 1_000;
/** Addresses are counted in this many places. Those that share one, in this pass, count as one. */
const PLACES = 2 ** 20;

/** What one network may have of a pool that cannot hold all that is listed: a share, but at most about one for each of its addresses. */
const NETWORK = { share: 1 / 100, least: 16, most: 256 } as const;

export function createCandidates(pass: Pick<Pass, 'noveltyOf' | 'placeOf'>, logins: Logins, maxPool: number) {
  const crowd = createCrowd(Math.min(NETWORK.most, Math.max(NETWORK.least, maxPool * NETWORK.share)));
  const seen = createSeen();
  const named = createSeen();
  const counts = new Uint16Array(PLACES);
  /** Logins in the pool, by key. */
  const stored = new Map<number, Login>();
  const changed = new Map<number, Endpoint & { login: Login }>();
  const isOther = createOtherLogins();
  const ranked: Record<Rank, Known[]> = { good: [], due: [], dead: [], none: [] };
  const fresh = createRows();
  const again = createRows();
  let pool = 0;
  /** If there are too many, those late in this pass are left for a later refresh. */
  let end = 1;

  function makeRoom(): void {
    end /= 2;
    for (const rows of [fresh, again]) rows.keep((key) => pass.placeOf(key) < end);
  }

  /** Records that a list names an entry. Returns false if one did before, or if too many of its address are named. */
  function name(key: number, ip: string, isOwn: boolean): boolean {
    if (named.has(key)) return false;
    const place = Math.floor(pass.placeOf(keyOf('any', ip, 0)) * PLACES);
    const count = counts[place] ?? 0;
    if (count >= MOST_OF_ADDRESS && !isOwn) return false;
    if (!isOwn) counts[place] = count + 1;
    return named.add(key);
  }

  /** Records a login that changes for the pool. Returns true if a proxy may be another one than was tried. */
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
    /** Adds a proxy of the pool, which is then not new in any list. `rank` decides whether and when it is checked. */
    addKnown(record: ProxyRecord, rank: Rank): void {
      const { protocol, ip, port, login, lastChecked, status } = record;
      pool++;
      const key = keyOf(protocol, ip, port);
      seen.add(key);
      if (status === 'alive') crowd.add(key);
      if (login !== null) stored.set(key, login);
      if (rank === 'none') return;
      ranked[rank].push({ protocol, ip, port, login, lastChecked, doubted: isDoubted(record) });
    },
    /**
     * Adds an entry of a list. Returns true if it is new: not in the pool, in this pass or the one before, or in
     * another list of this refresh.
     */
    add(
      source: number,
      kind: Kind,
      ip: string,
      port: number,
      { country, login, isOwn = false }: Said,
    ): boolean {
      if (login !== null && isOther(ip, port, login)) return false;
      const isNews = login !== null && offer(ip, port, login);
      const key = keyOf(kind, ip, port);
      if (end < 1 && pass.placeOf(key) >= end) return false;
      // A new login makes an entry due that was tried without it.
      const isFirst = name(key, ip, isOwn);
      if (named.size >= MOST * (2 - end)) makeRoom();
      if (!isFirst && !(isNews && pass.noveltyOf(key, source) === 'tried')) return false;
      if (kind === 'any' ? PROTOCOLS.some((one) => seen.has(keyOf(one, ip, port))) : seen.has(key))
        return false;
      const novelty = isNews ? 'new' : pass.noveltyOf(key, source);
      if (novelty === 'tried') return false;
      (novelty === 'new' ? fresh : again).add({ key, kind, ip, port, source, country });
      return novelty === 'new';
    },
    isKnown: ({ protocol, ip, port }: Endpoint) => seen.has(keyOf(protocol, ip, port)),
    known: (rank: Rank) => ranked[rank],
    /** Returns the proxies of the pool for which a list gives another login. */
    changed: () => [...changed.values()],
    /** The working ones of the pool. */
    crowd,
    /** Number of proxies of the pool that were added. */
    get pool(): number {
      return pool;
    },
    /** Listed entries that were never tried. */
    fresh,
    /** Listed entries that only an earlier pass has tried. */
    again,
  };
}

/** The candidates of one refresh: proxies of the pool and other listed entries, each endpoint once. */
export type Candidates = ReturnType<typeof createCandidates>;
