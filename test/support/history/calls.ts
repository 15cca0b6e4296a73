/** What clients and an observer saw of a fleet. Times are ms of one monotonic clock. */
export interface History {
  calls: Call[];
  leases: LeaseEvent[];
}

/** A call and its result. Calls with an unknown effect, such as uploads without an answer, are left out. */
export type Call =
  | { kind: 'upload'; id: string; start: number; end: number }
  | { kind: 'read'; id: string; start: number; end: number; found: boolean }
  /** `done`: it was acknowledged, or the image no longer existed; otherwise unknown. */
  | { kind: 'delete'; id: string; start: number; end: number; done: boolean }
  /** A copy's report about the last refresh. */
  | { kind: 'refresh'; copy: string; job: string; start: number; end: number; running: boolean };

/** What the store of records was told about leases, in its order. */
export type LeaseEvent =
  | { kind: 'grant'; lock: string; owner: string; token: number }
  /** A write under a lease, and whether it changed anything. */
  | { kind: 'write'; fence: string; token: number; changed: boolean };
