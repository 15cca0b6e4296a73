/** What is known about one upstream and one site: two counts that fade. */
interface Pair {
  good: number;
  bad: number;
}

interface Site {
  /** Of all upstreams together. */
  good: number;
  bad: number;
  pairs: Map<string, Pair>;
}

/**
 * Learns which upstreams reach which sites. Sites block proxies one by one, so that one which works elsewhere may be useless for
 * them. A choice by draws from what is likely (Thompson sampling) finds those that work and goes on trying others now and then.
 */
export interface Sites {
  /** An upstream has reached a site, or has not. */
  observe(site: string, upstream: string, reached: boolean): void;
  /** True once anything was learned about the site. */
  knows(site: string): boolean;
  /** A draw from the likely chances that the upstream reaches the site; `prior`: its chance with any site. */
  draw(site: string, upstream: string, prior: number): number;
  /** The mean of these chances. */
  chance(site: string, upstream: string, prior: number): number;
  readonly size: number;
}

/** The least recently visited sites, and pairs, are forgotten. */
const MOST_SITES = 500;
const MOST_PAIRS = 400;
/** What each result of a pair leaves of the ones before: the last twenty matter. */
const FADING = 0.95;
/** For how many results of a pair the prior stands. */
const PRIOR_WEIGHT = 2;
/** For how many results of a site it stands that it blocks nobody. */
const SITE_WEIGHT = 4;

/** @param random 0 to 1, never 0 */
export function createSites(random: () => number): Sites {
  const sites = new Map<string, Site>();

  function shape(site: string, upstream: string, prior: number): { a: number; b: number } {
    const known = sites.get(site);
    const pair = known?.pairs.get(upstream);
    const mean = known ? (known.good + SITE_WEIGHT) / (known.good + known.bad + SITE_WEIGHT) : 1;
    const expected = Math.min(0.98, Math.max(0.02, prior * mean));
    return {
      a: PRIOR_WEIGHT * expected + (pair?.good ?? 0),
      b: PRIOR_WEIGHT * (1 - expected) + (pair?.bad ?? 0),
    };
  }

  return {
    get size() {
      return sites.size;
    },
    knows: (site) => sites.has(site),

    observe(site, upstream, reached) {
      const known = touch(sites, site, MOST_SITES, () => ({
        good: 0,
        bad: 0,
        pairs: new Map<string, Pair>(),
      }));
      const pair = touch(known.pairs, upstream, MOST_PAIRS, () => ({ good: 0, bad: 0 }));
      for (const counts of [known, pair]) {
        counts.good = counts.good * FADING + (reached ? 1 : 0);
        counts.bad = counts.bad * FADING + (reached ? 0 : 1);
      }
    },

    draw(site, upstream, prior) {
      const { a, b } = shape(site, upstream, prior);
      const x = drawGamma(a, random);
      return x / (x + drawGamma(b, random));
    },

    chance(site, upstream, prior) {
      const { a, b } = shape(site, upstream, prior);
      return a / (a + b);
    },
  };
}

/** The entry, made where there is none, and now the last to be forgotten. */
function touch<T>(entries: Map<string, T>, key: string, most: number, make: () => T): T {
  const entry = entries.get(key) ?? make();
  entries.delete(key);
  entries.set(key, entry);
  const [oldest] = entries.keys();
  if (oldest !== undefined && entries.size > most) entries.delete(oldest);
  return entry;
}

/** A gamma variate (Marsaglia and Tsang, 2000); two of them make a beta variate. */
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

/** Country-code domains under which names are registered on the third level: `example.co.uk`. */
const SECOND_LEVEL = /\.(co|com|net|org|gov|edu|ac|gob|gov|or|ne|go|nom|mil)\.[a-z]{2}$/;

/** The registrable domain of a host, as far as it can be told without the public suffix list; an address stays. */
export function siteOf(host: string): string {
  if (/^[\d.]+$/.test(host) || host.includes(':')) return host;
  const labels = host.split('.');
  return labels.slice(SECOND_LEVEL.test(host) ? -3 : -2).join('.');
}
