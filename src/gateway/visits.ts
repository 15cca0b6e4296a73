import { BoundedMap } from '../lib/bounded-map.ts';
import { OwnedMap } from '../lib/owned-map.ts';

/** How long ago a site has seen each exit, counted in choices. */
export interface Visits {
  /** Returns a number that is greater the later the site has seen the exit, or any site if this one never has. */
  latest(exit: string): number;
  /** Notes that the site sees the exit now. */
  note(exit: string): void;
}

/** Exits that are remembered of all accounts. */
const MOST_EXITS = 30_000;
/** Pairs of exits and sites, of which each account has its share, and each of its exits at least the latest few sites. */
const MOST_PAIRS = 100_000;
const LEAST_SITES = 8;
/** Stands for whatever site an exit has last been to. */
const ANY = '';
/** Exits that a site has never seen come before all that it has. */
export const NEVER_SEEN = -(2 ** 40);

/** Returns a function that returns the visits of an account to a site. */
export function createVisits(): (account: string, site: string) => Visits {
  // Each choice compares many exits, so no key is made of several texts: that took a tenth of a request's time.
  const seen = new OwnedMap<BoundedMap<string, number>>(MOST_EXITS);
  let choices = 0;
  return (account, site) => ({
    latest(exit) {
      const sites = seen.get(account, exit);
      return sites?.get(site) ?? NEVER_SEEN + (sites?.get(ANY) ?? 0);
    },
    note(exit) {
      const sites = seen.get(account, exit) ?? new BoundedMap<string, number>(LEAST_SITES);
      choices++;
      seen.set(account, exit, sites);
      sites.most = 1 + Math.max(LEAST_SITES, MOST_PAIRS / seen.owners / (seen.of(account)?.size ?? 1));
      sites.set(ANY, choices).set(site, choices);
    },
  });
}
