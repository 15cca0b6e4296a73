import type { AlbumRecord } from './album.ts';

/**
 * Stores album records. All methods are atomic. Storage failures reject with `AppError('unavailable')`, a full disk
 * with `storage_full`. Inserted and replaced records are as durable as the store is configured to be. If that is
 * uncertain, the method rejects with `unavailable` as well, and the change may or may not have been made.
 */
export interface AlbumStore {
  /** Adds a record. Rejects with `conflict` if the ID is taken. */
  insert(album: AlbumRecord): Promise<void>;
  /** Returns the record, or `null`. */
  get(id: string): Promise<AlbumRecord | null>;
  /**
   * Replaces the record whose revision is one less than the album's. Returns false if it has another revision or does
   * not exist.
   */
  replace(album: AlbumRecord): Promise<boolean>;
  /** Removes the record or, if a revision is given, only that revision. Returns false if there is none. */
  remove(id: string, revision?: number): Promise<boolean>;
  /** Returns records that were due by the time, the most overdue first. */
  dueBy(time: number, limit: number): Promise<AlbumRecord[]>;
  /** Returns all records in batches, in any order. Concurrent changes may or may not be seen. */
  all(): AsyncIterable<AlbumRecord[]>;
}
