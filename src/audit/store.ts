/** What remains to be done about an act: carry it out, tell it outside, nothing. */
export const OPEN = 2;
export const CARRIED_OUT = 1;
export const DONE = 0;
export type Stage = typeof OPEN | typeof CARRIED_OUT | typeof DONE;

/** An act as it is stored. It never changes, except for its stage. */
export interface AuditEntry {
  /** Random, chosen by the writer, so that a repeated append is stored once. */
  id: string;
  /** By the writer's clock, ms since 1970. */
  at: number;
  /** The day of the log on which it was written; clocks that jump do not change how days count. */
  day: number;
  /** What was acted on, such as `image <id>`. */
  subject: string;
  /** Everything else, as JSON. */
  text: string;
}

export type StagedEntry = AuditEntry & { stage: Stage };

interface AuditQuery {
  /** At least 1. */
  limit: number;
  /** Only entries after that of this ID; of one that is gone, none. */
  after?: string | undefined;
  /** Only entries about it; `after` does not apply. */
  subject?: string | undefined;
}

/** Stores acts. All methods are atomic. Failures reject with `AppError('unavailable')`, a full disk with `storage_full`. */
export interface AuditStore {
  /** Adds an entry. If there is one with its ID, that stays as it is. Durable when it resolves. */
  append(entry: AuditEntry, stage: Stage): Promise<void>;
  /** Moves an entry to a later stage, never back. Unknown IDs are ignored. */
  advance(id: string, stage: Stage): Promise<void>;
  /** Returns entries, newest first, ties by ID. */
  list(query: AuditQuery): Promise<StagedEntry[]>;
  /** Returns entries that are not done: first those to carry out, each kind oldest first. */
  unfinished(limit: number): Promise<StagedEntry[]>;
  /** Removes entries that are done and of an earlier day. Returns how many. */
  drop(day: number): Promise<number>;
}
