import type { Expected } from './ask.ts';
import { siteOf } from './site.ts';

/** A target that the operator has configured. Proxies are tried with it from time to time. */
export interface NamedTarget extends Expected {
  name: string;
  url: string;
}

/** Returns the configured targets by site, in lower case. */
export function sitesByName(named: readonly NamedTarget[]): ReadonlyMap<string, string> {
  return new Map(named.map(({ name, url }) => [name.toLowerCase(), siteOf(new URL(url).hostname)]));
}
