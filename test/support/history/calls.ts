/** A call to a fleet and its result. Times are ms of one monotonic clock. Calls with an unknown effect, such as uploads without an answer, are left out. */
export type Call =
  | { kind: 'upload'; id: string; start: number; end: number }
  | { kind: 'read'; id: string; start: number; end: number; found: boolean }
  /** `done`: it was acknowledged, or the image no longer existed; otherwise unknown. */
  | { kind: 'delete'; id: string; start: number; end: number; done: boolean }
  /** A copy's report about the last refresh. */
  | { kind: 'refresh'; copy: string; job: string; start: number; end: number; running: boolean };
