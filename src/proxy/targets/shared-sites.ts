import type { Locks } from '../../lib/locks.ts';
import { breathe } from '../../lib/schedule.ts';
import type { StateStore } from '../../lib/state.ts';
import { type Counts, MOST_SITES, type SiteFacts, type Sites } from './sites.ts';

export interface SharedSitesOptions {
  sites: Sites;
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  /** True for a site that must not be forgotten for others. */
  isKept: (site: string) => boolean;
  /** Ms since 1970. */
  now: () => number;
}

/** What all copies of the server know about sites, and what outlives them. */
export interface SharedSites {
  /** Takes over what others have found out, and tells them what was found out here. */
  exchange(): Promise<void>;
}

/** The content of each slot: the site, a number that grows with each write, and the time of the last observation. */
type Index = [site: string, revision: number, heardAt: number][];

const INDEX = 'targets:index';
const LOCK = 'targets';
const LEASE_MS = 10_000;
/** Maximum number of sites that are written at once: a store has other work as well. */
const MOST_WRITTEN = 50;

/**
 * Sites lie in numbered slots, as the state store forgets no name: so there are never more than `MOST_SITES`. The index tells what is
 * in them; a reader that finds nothing new in it reads nothing else. Writers take turns by a lock.
 */
export function createSharedSites({ sites, state, locks, isKept, now }: SharedSitesOptions): SharedSites {
  /** The revisions that are known here, by site. */
  const seen = new Map<string, number>();

  async function readIndex(): Promise<Index> {
    const text = await state.get(INDEX);
    return text === null ? [] : (JSON.parse(text) as Index);
  }

  async function read(index: Index): Promise<void> {
    for (const [slot, [site, revision]] of index.entries()) {
      if (seen.get(site) === revision) continue;
      const text = await state.get(slotKey(slot));
      if (text !== null) sites.replace(site, parse(text));
      seen.set(site, revision);
      await breathe();
    }
    const standing = new Set(index.map(([site]) => site));
    for (const site of seen.keys()) if (!standing.has(site)) seen.delete(site);
  }

  async function write(index: Index, token: number): Promise<void> {
    const news = sites.takeNews(MOST_WRITTEN);
    // In one turn with the news: what is observed meanwhile belongs to the next ones.
    const texts = [...news.keys()].map((site) => [site, textOf(sites.facts(site))] as const);
    try {
      for (const [site, text] of texts) {
        const slot = slotOf(index, site);
        const revision = (index[slot]?.[1] ?? 0) + 1;
        if (!(await state.setFenced(slotKey(slot), text, token))) throw new Error('another copy writes');
        index[slot] = [site, revision, now()];
        seen.set(site, revision);
      }
      await state.setFenced(INDEX, JSON.stringify(index), token);
    } catch (error) {
      sites.returnNews(news);
      throw error;
    }
  }

  function slotOf(index: Index, site: string): number {
    const own = index.findIndex(([name]) => name === site);
    if (own >= 0) return own;
    if (index.length < MOST_SITES) return index.length;
    let oldest = 0;
    let oldestAt = Number.POSITIVE_INFINITY;
    for (const [slot, [name, , heardAt]] of index.entries()) {
      if (isKept(name) || heardAt >= oldestAt) continue;
      oldest = slot;
      oldestAt = heardAt;
    }
    return oldest;
  }

  return {
    async exchange() {
      if (!sites.hasNews) return read(await readIndex());
      const lease = await locks.acquire(LOCK, LEASE_MS);
      // The holder is done soon; the news waits for the next time.
      if (lease === null) return;
      try {
        const index = await readIndex();
        await read(index);
        await write(index, lease.token);
      } finally {
        await lease.release();
      }
    },
  };
}

function slotKey(slot: number): string {
  return `targets:${slot}`;
}

type Written = [good: number, bad: number, pairs: [proxy: string, good: number, bad: number][]];

/** Thousandths are enough. */
const round = (value: number) => Math.round(value * 1000) / 1000;

function textOf(facts: SiteFacts | null): string {
  const { good, bad, pairs } = facts ?? { good: 0, bad: 0, pairs: new Map<string, Counts>() };
  const written: Written = [
    round(good),
    round(bad),
    [...pairs].map(([proxy, counts]) => [proxy, round(counts.good), round(counts.bad)]),
  ];
  return JSON.stringify(written);
}

function parse(text: string): SiteFacts {
  const [good, bad, pairs] = JSON.parse(text) as Written;
  return { good, bad, pairs: new Map(pairs.map(([proxy, yes, no]) => [proxy, { good: yes, bad: no }])) };
}
