import { OwnedMap } from '../lib/owned-map.ts';

/** How long ago a site has seen each exit, counted in choices. */
export interface Visits {
  /** Returns a number that is greater the later the site has seen the exit, or any site if this one never has. */
  latest(exit: string): number;
  /** Notes that the site sees the exit now. */
  note(exit: string): void;
}

/** Pairs of exits and sites that are remembered of all accounts. */
const MOST_VISITS = 100_000;
/** Exits that a site has never seen come before all that it has. */
export const NEVER_SEEN = -(2 ** 40);

/** Returns a function that returns the visits of an account to a site. */
export function createVisits(): (account: string, site: string) => Visits {
  const seen = new OwnedMap<number>(MOST_VISITS);
  let choices = 0;
  return (account, site) => ({
    latest: (exit) => seen.get(account, `${site} ${exit}`) ?? NEVER_SEEN + (seen.get(account, exit) ?? 0),
    note(exit) {
      choices++;
      for (const place of [`${site} ${exit}`, exit]) seen.set(account, place, choices);
    },
  });
}
