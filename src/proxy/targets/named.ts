import { siteOf } from './site.ts';

/** A target that the operator has named: proxies are tried with it from time to time. */
export interface NamedTarget {
  name: string;
  url: string;
  /** What it answers where it takes a proxy for a guest like any other. */
  statuses: readonly number[];
}

/** The sites of named targets, by their names in lower case. */
export function sitesByName(named: readonly NamedTarget[]): ReadonlyMap<string, string> {
  return new Map(named.map(({ name, url }) => [name.toLowerCase(), siteOf(new URL(url).hostname)]));
}
