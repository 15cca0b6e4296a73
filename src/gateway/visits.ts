import { BoundedMap } from '../lib/bounded-map.ts';
import { OwnedMap } from '../lib/owned-map.ts';

/** How long ago a site has seen each exit, counted in choices. */
export interface Visits {
  /** Returns a number that is greater the later the site has seen the exit, or any site if this one never has. */
  latest(exit: string): number;
  /** Notes that the site sees the exit now. */
  note(exit: string): void;
}

/** Exits that are remembered of all accounts, and the latest sites that are for each. */
const MOST_EXITS = 30_000;
const MOST_SITES = 8;
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
      const sites = seen.get(account, exit) ?? new BoundedMap(1 + MOST_SITES);
      choices++;
      seen.set(account, exit, sites.set(ANY, choices).set(site, choices));
    },
  });
}
