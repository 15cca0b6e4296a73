import type { Locks } from '../../lib/locks.ts';
import { breathe } from '../../lib/schedule.ts';
import type { StateStore } from '../../lib/state.ts';
import { type Counts, firstToGo, MOST_SITES, type OwnerOf, type SiteFacts, type Sites } from './sites.ts';

interface SharedSitesOptions {
  sites: Sites;
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  /** Returns true for a site that must not be forgotten in favour of others. */
  isKept: (site: string) => boolean;
  /** Returns to whom a site belongs. Default: to one. */
  ownerOf?: OwnerOf;
  /** Separates these sites from others in the store. Default: `targets`. */
  name?: string;
  /** Ms since 1970. */
  now: () => number;
}

/**
 * The content of each slot: the site, a revision that grows with each write, and the time of the last observation.
 */
type Index = [site: string, revision: number, heardAt: number][];

const LEASE_MS = 10_000;
/** Maximum number of sites written at once, because the store has other work as well. */
const MOST_WRITTEN = 50;

/**
 * Shares knowledge about sites between all copies of the server, and keeps it over restarts.
 *
 * Sites are kept in numbered slots, because the state store forgets no name: so there are never more than
 * `MOST_SITES`. The index lists the contents of the slots; a reader that finds nothing new in it reads
 * nothing else. A lock serialises writers.
 */
export function createSharedSites(options: SharedSitesOptions) {
  const { sites, state, locks, isKept, now, ownerOf = () => '', name: lock = 'targets' } = options;
  const indexKey = `${lock}:index`;
  const slotKey = (slot: number) => `${lock}:${slot}`;
  /** The revisions known here, by site. */
  const seen = new Map<string, number>();

  async function readIndex(): Promise<Index> {
    const text = await state.get(indexKey);
    return text === null ? [] : (JSON.parse(text) as Index);
  }

  async function read(index: Index): Promise<void> {
    for (const [slot, [site, revision]] of index.entries()) {
      if (seen.get(site) === revision) continue;
      const text = await state.get(slotKey(slot));
      const written = text === null ? null : parse(text);
      // A copy may have died after it gave the slot to another site, and before the index said so.
      if (written && (written.site ?? site) !== site) continue;
      if (written) sites.replace(site, written.facts);
      seen.set(site, revision);
      await breathe();
    }
    const standing = new Set(index.map(([site]) => site));
    for (const site of seen.keys()) if (!standing.has(site)) seen.delete(site);
  }

  async function write(index: Index, token: number): Promise<void> {
    const news = sites.takeNews(MOST_WRITTEN);
    // Must run in the same turn as taking the news: later observations belong to the next news.
    const texts = [...news.keys()].map((site) => [site, textOf(site, sites.facts(site))] as const);
    try {
      for (const [site, text] of texts) {
        const slot = slotOf(index, site);
        await publish(slotKey(slot), text, token);
        index[slot] = [site, (index[slot]?.[1] ?? 0) + 1, now()];
      }
      await publish(indexKey, JSON.stringify(index), token);
    } catch (error) {
      sites.returnNews(news);
      throw error;
    }
    for (const [site, revision] of index) if (news.has(site)) seen.set(site, revision);
  }

  async function publish(key: string, text: string, token: number): Promise<void> {
    if (!(await state.setFenced(key, text, token))) throw new Error('another copy writes');
  }

  function slotOf(index: Index, site: string): number {
    const own = index.findIndex(([name]) => name === site);
    if (own >= 0) return own;
    if (index.length < MOST_SITES) return index.length;
    const byAge = index.filter(([name]) => !isKept(name)).sort((one, other) => one[2] - other[2]);
    const names = byAge.map(([name]) => name);
    const leaving = firstToGo(names, ownerOf) ?? index[0]?.[0];
    return index.findIndex(([name]) => name === leaving);
  }

  /** Imports what other copies have learnt, and publishes what this one has. */
  return async (): Promise<void> => {
    if (!sites.hasNews) return read(await readIndex());
    const lease = await locks.acquire(lock, LEASE_MS);
    // The holder will be done soon. The news waits for the next time.
    if (lease === null) return;
    try {
      const index = await readIndex();
      await read(index);
      await write(index, lease.token);
    } finally {
      await lease.release();
    }
  };
}

/** Slots that earlier versions wrote lack the site. */
type Written = [
  good: number,
  bad: number,
  pairs: [proxy: string, good: number, bad: number][],
  site?: string,
];

/** Three decimals are enough. */
const round = (value: number) => Math.round(value * 1000) / 1000;

function textOf(site: string, facts: SiteFacts | null): string {
  const { good, bad, pairs } = facts ?? { good: 0, bad: 0, pairs: new Map<string, Counts>() };
  const written: Written = [
    round(good),
    round(bad),
    [...pairs].map(([proxy, counts]) => [proxy, round(counts.good), round(counts.bad)]),
    site,
  ];
  return JSON.stringify(written);
}

function parse(text: string): { site: string | undefined; facts: SiteFacts } {
  const [good, bad, pairs, site] = JSON.parse(text) as Written;
  const counts = pairs.map(([proxy, yes, no]) => [proxy, { good: yes, bad: no }] as const);
  return { site, facts: { good, bad, pairs: new Map(counts) } };
}
