import { BoundedMap } from '../../lib/bounded-map.ts';
import { createSites, type SiteFacts } from './sites.ts';

/** Whom a result belongs to. */
export interface Witness {
  /** The account's name. */
  id: string;
  /** True for the operator, whose results count for all. */
  speaksForAll: boolean;
}

interface TestimonyOptions {
  /** 0 to 1. */
  random: () => number;
  monotonic: () => number;
  /** Collects news for other copies. Default: false. */
  shared?: boolean;
}

const ownName = ({ id }: Witness, site: string) => `${site} ${id}`;

/** Returns the account of a site's name in `own`, which contains no blank itself. */
export const accountOf = (name: string) => name.slice(name.indexOf(' ') + 1);

export function createTestimony({ random, monotonic, shared = false }: TestimonyOptions) {
  const common = createSites({ random, shared });
  const own = createSites({ random, shared, ownerOf: accountOf });
  const agreement = createAgreement(monotonic);

  return {
    /** What several accounts, or the operator, have seen. */
    common,
    /** What each account has seen, by `ownName`. */
    own,
    /** Records whether an account has reached a site through a proxy. */
    observe(witness: Witness, site: string, proxy: string, reached: boolean): void {
      if (!witness.speaksForAll) own.observe(ownName(witness, site), proxy, reached);
      const isAgreed = agreement.note(`${site} ${proxy}`, witness.id, reached);
      if (isAgreed || witness.speaksForAll) common.observe(site, proxy, reached);
    },
    /**
     * Returns a draw from the likely chances that a proxy reaches the site, or `undefined` if the account may know
     * nothing about it. `prior`: its chance with any site.
     */
    drawAt(witness: Witness, site: string): ((proxy: string, prior: number) => number) | undefined {
      const name = ownName(witness, site);
      const isShared = common.knows(site);
      if (!own.knows(name)) return isShared ? (proxy, prior) => common.draw(site, proxy, prior) : undefined;
      return (proxy, prior) => own.draw(name, proxy, isShared ? common.chance(site, proxy, prior) : prior);
    },
    /**
     * Returns what an account may know about a site, `null` if that is nothing. Without an account: what all may know.
     */
    facts(witness: Witness | null, site: string): SiteFacts | null {
      const seen = witness === null ? null : own.facts(ownName(witness, site));
      return together(common.facts(site), seen);
    },
    /** Returns what anyone has seen of sites, for the operator's eyes. */
    all(): ReadonlyMap<string, SiteFacts> {
      const found = new Map<string, SiteFacts | null>();
      for (const name of own.names()) {
        const [site = ''] = name.split(' ', 1);
        found.set(site, together(found.get(site) ?? null, own.facts(name)));
      }
      // It comes from the same results.
      for (const site of common.names()) found.set(site, common.facts(site));
      return new Map([...found].filter((entry): entry is [string, SiteFacts] => entry[1] !== null));
    },
  };
}

/** What accounts have seen of sites. What one of them says changes nothing for another one; what several say does. */
export type Testimony = ReturnType<typeof createTestimony>;

function together(one: SiteFacts | null, other: SiteFacts | null): SiteFacts | null {
  if (one === null || other === null) return one ?? other;
  const pairs = new Map(one.pairs);
  for (const [proxy, { good, bad }] of other.pairs) {
    const before = pairs.get(proxy) ?? { good: 0, bad: 0 };
    pairs.set(proxy, { good: before.good + good, bad: before.bad + bad });
  }
  return { good: one.good + other.good, bad: one.bad + other.bad, pairs };
}

/** Things on which accounts may agree; the oldest are forgotten. */
const MOST_OPINIONS = 20_000;
/** The latest accounts that are remembered for each. */
const MOST_VOICES = 4;
/** Accounts agree if they have seen the same within this time. */
const AGREEMENT_MS = 60 * 60_000;

export function createAgreement(monotonic: () => number) {
  const voices = new BoundedMap<string, { account: string; good: boolean; at: number }[]>(MOST_OPINIONS);
  const latest = (key: string) => (voices.get(key) ?? []).filter(({ at }) => monotonic() - at < AGREEMENT_MS);

  return {
    /**
     * Notes what an account has seen. Returns true if another one has seen the same. What an account repeats counts
     * once, until another one has spoken.
     */
    note(key: string, account: string, good: boolean): boolean {
      const heard = latest(key);
      const others = heard.filter((voice) => voice.account !== account);
      voices.set(key, [...others.slice(1 - MOST_VOICES), { account, good, at: monotonic() }]);
      return heard.at(-1)?.account !== account && others.some((voice) => voice.good === good);
    },
    /** Returns what most accounts have seen, but at least two; `null` if there is no such opinion. */
    opinion(key: string): 'good' | 'bad' | null {
      const heard = latest(key);
      const good = heard.filter((voice) => voice.good).length;
      const bad = heard.length - good;
      if (Math.max(good, bad) < 2 || good === bad) return null;
      return good > bad ? 'good' : 'bad';
    },
  };
}

/** Notes what accounts have seen, and finds out on what several agree. */
export type Agreement = ReturnType<typeof createAgreement>;
