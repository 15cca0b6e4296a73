/** A target that the operator has named: proxies are tried with it from time to time. */
export interface NamedTarget {
  name: string;
  url: string;
  /** What it answers where it takes a proxy for a guest like any other. */
  statuses: readonly number[];
}
