/** What clients and an onlooker saw of a fleet. Times are ms of one clock that never goes back. */
export interface History {
  calls: Call[];
  leases: LeaseEvent[];
}

/** A call and what came of it. Calls about which nothing can be said, such as uploads without an answer, are left out. */
export type Call =
  | { kind: 'upload'; id: string; start: number; end: number }
  | { kind: 'read'; id: string; start: number; end: number; found: boolean }
  /** `done`: it was acknowledged, or there was no such image any more; else nobody knows. */
  | { kind: 'delete'; id: string; start: number; end: number; done: boolean }
  /** What a copy says of the last refresh. */
  | { kind: 'refresh'; copy: string; job: string; start: number; end: number; running: boolean };

/** What the store of records was told about leases, in its order. */
export type LeaseEvent =
  | { kind: 'grant'; lock: string; owner: string; token: number }
  /** A write in the name of a lease, and whether it changed anything. */
  | { kind: 'write'; fence: string; token: number; changed: boolean };
