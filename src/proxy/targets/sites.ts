/** Results that fade: each new result multiplies the older ones by `FADING`. */
export interface Counts {
  good: number;
  bad: number;
}

/** What is known about a site. */
export interface SiteFacts extends Counts {
  /** Results by proxy, the most recently observed last. */
  pairs: Map<string, Counts>;
}

/** What was observed of a site since its news were taken, the latest last. */
type SiteNews = [proxy: string, reached: boolean][];

/** The least recently observed sites and pairs beyond this are forgotten. */
export const MOST_SITES = 500;
const MOST_PAIRS = 400;
/** Of a site, the latest observations that other copies have yet to hear of. */
const MOST_NEWS = 400;
/** Factor by which each result of a pair fades the older ones: the last twenty matter. */
const FADING = 0.95;
/** Weight of the prior of a pair, as a number of results. */
const PRIOR_WEIGHT = 2;
/** Weight of the assumption that a site blocks nobody, as a number of results. */
const SITE_WEIGHT = 4;

interface SitesOptions {
  /** 0 to 1. */
  random: () => number;
  /** Collects news for other copies. Default: false. */
  shared?: boolean;
  /** Returns to whom a site belongs. Default: to one. */
  ownerOf?: OwnerOf;
}

export type OwnerOf = (site: string) => string;

/** Returns which of the names, the oldest first, is forgotten first: the oldest of the owner who has most of them. */
export function firstToGo(names: Iterable<string>, ownerOf: OwnerOf): string | undefined {
  const byOwner = [...Map.groupBy(names, ownerOf).values()];
  return byOwner.toSorted((one, other) => other.length - one.length)[0]?.[0];
}

export function createSites({ random, shared = false, ownerOf }: SitesOptions) {
  const sites = new Map<string, SiteFacts>();
  let news = new Map<string, SiteNews>();

  function shape(site: string, proxy: string, prior: number): { a: number; b: number } {
    const known = sites.get(site);
    const pair = known?.pairs.get(proxy);
    const expected = Math.min(0.98, Math.max(0.02, prior * (known ? meanOf(known) : 1)));
    return {
      a: PRIOR_WEIGHT * expected + (pair?.good ?? 0),
      b: PRIOR_WEIGHT * (1 - expected) + (pair?.bad ?? 0),
    };
  }

  return {
    /** True if something was observed since the news were taken. */
    get hasNews(): boolean {
      return news.size > 0;
    },
    /** Reports whether anything is known about the site. */
    knows: (site: string) => sites.has(site),

    observe(site: string, proxy: string, reached: boolean): void {
      note(touch(sites, site, MOST_SITES, newSite, ownerOf), proxy, reached);
      if (!shared) return;
      const fresh = touch(news, site, MOST_SITES, (): SiteNews => [], ownerOf);
      if (fresh.push([proxy, reached]) > MOST_NEWS) fresh.shift();
    },

    /** Draws from the likely chances that the proxy reaches the site. `prior`: its chance with any site. */
    draw(site: string, proxy: string, prior: number): number {
      const { a, b } = shape(site, proxy, prior);
      return drawBeta(a, b, random);
    },

    /** Returns the mean of these chances. */
    chance(site: string, proxy: string, prior: number): number {
      const { a, b } = shape(site, proxy, prior);
      return a / (a + b);
    },

    /** Returns what is known about a site, or `null`. */
    facts(site: string): SiteFacts | null {
      const known = sites.get(site);
      return known ? copyOf(known) : null;
    },
    /** Returns the names of all sites, the most recently observed last. */
    names: () => [...sites.keys()],

    /** Takes up to this many sites' observations to share them with other copies, those without recent ones first. */
    takeNews(most: number): Map<string, SiteNews> {
      const taken = new Map([...news].slice(0, most));
      for (const site of taken.keys()) news.delete(site);
      return taken;
    },

    /** Puts back news that could not be shared. */
    returnNews(older: ReadonlyMap<string, SiteNews>): void {
      const newer = news;
      news = new Map(older);
      for (const [site, fresh] of newer)
        news.set(site, [...(news.get(site) ?? []), ...fresh].slice(-MOST_NEWS));
    },

    /** Replaces what is known about a site by the shared knowledge, plus the news not shared yet. */
    replace(site: string, shared: SiteFacts): void {
      const facts = copyOf(shared);
      for (const [proxy, reached] of news.get(site) ?? []) note(facts, proxy, reached);
      // What others know takes no place of what this copy has yet to tell.
      for (const own of news.keys()) if (sites.has(own)) touch(sites, own, MOST_SITES, newSite);
      touch(sites, site, MOST_SITES, newSite, ownerOf);
      sites.set(site, facts);
    },
  };
}

/**
 * Learns which proxies reach which sites. Each site has its own block list, so a proxy that works elsewhere may be
 * useless for it. Thompson sampling (choosing by a draw from the likely chances) finds proxies that work, and keeps
 * trying others now and then.
 */
export type Sites = ReturnType<typeof createSites>;

/** Returns the share of good results, given a prior. */
function meanOf({ good, bad }: Counts): number {
  return (good + SITE_WEIGHT) / (good + bad + SITE_WEIGHT);
}

/** Adds an observation to the facts. */
function note(facts: SiteFacts, proxy: string, reached: boolean): void {
  addResult(facts, reached);
  addResult(touch(facts.pairs, proxy, MOST_PAIRS, newCounts), reached);
}

const newCounts = (): Counts => ({ good: 0, bad: 0 });
const newSite = (): SiteFacts => ({ ...newCounts(), pairs: new Map() });

function copyOf({ good, bad, pairs }: SiteFacts): SiteFacts {
  return { good, bad, pairs: new Map([...pairs].map(([proxy, counts]) => [proxy, { ...counts }])) };
}

function addResult(counts: Counts, reached: boolean): void {
  counts.good = counts.good * FADING + (reached ? 1 : 0);
  counts.bad = counts.bad * FADING + (reached ? 0 : 1);
}

/** Returns the entry, created if necessary, and makes it the last to be forgotten. */
function touch<T>(entries: Map<string, T>, key: string, most: number, make: () => T, ownerOf?: OwnerOf): T {
  const entry = entries.get(key) ?? make();
  entries.delete(key);
  entries.set(key, entry);
  if (entries.size > most) {
    const oldest = ownerOf ? firstToGo(entries.keys(), ownerOf) : entries.keys().next().value;
    if (oldest !== undefined) entries.delete(oldest);
  }
  return entry;
}

/**
 * Draws from the beta distribution: a plausible share of good results if `a` were good and `b` were bad. `random`: 0
 * to 1.
 */
function drawBeta(a: number, b: number, random: () => number): number {
  const x = drawGamma(a, random);
  return x / (x + drawGamma(b, random));
}

/** Draws a gamma variate (Marsaglia and Tsang, 2000); two of them make a beta variate. */
function drawGamma(shape: number, random: () => number): number {
  if (shape < 1) return drawGamma(shape + 1, random) * random() ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(random() || Number.MIN_VALUE)) * Math.cos(2 * Math.PI * random());
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(random() || Number.MIN_VALUE) < 0.5 * x * x + d - d * v + d * Math.log(v))
      return d * v;
  }
}
