import { BoundedMap } from '../lib/bounded-map.ts';

/** How long ago a site has seen each exit, counted in an account's choices. */
export type Visits = ReturnType<ReturnType<typeof createVisits>>;

/** The least recently visited sites of an account, and the exits that a site has not seen for longest, are forgotten. */
const MOST_SITES = 16;
const MOST_EXITS = 1_000;
/** Exits that a site has never seen come before all that it has. */
export const NEVER_SEEN = -(2 ** 40);

/** Returns a function that returns the visits to a site. */
export function createVisits() {
  const sites = new BoundedMap<string, BoundedMap<string, number>>(MOST_SITES);
  const everywhere = new BoundedMap<string, number>(MOST_EXITS);
  let choices = 0;
  return (site: string) => {
    const here = sites.get(site) ?? new BoundedMap<string, number>(MOST_EXITS);
    sites.set(site, here);
    return {
      /** Returns a number that is greater the later the site has seen the exit, or any site if this one never has. */
      latest: (exit: string): number => here.get(exit) ?? NEVER_SEEN + (everywhere.get(exit) ?? 0),
      /** Notes that the site sees the exit now. */
      note(exit: string): void {
        choices++;
        here.set(exit, choices);
        everywhere.set(exit, choices);
      },
    };
  };
}
