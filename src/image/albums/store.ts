import type { AlbumRecord } from './album.ts';

/**
 * Where album records live. All methods are atomic; failures of the storage itself reject with
 * `AppError('unavailable')`, a full disk with `storage_full`. What is inserted or replaced is kept as safely as the store was told to
 * keep it; if that is not certain, it rejects with `unavailable` as well, and the change may be there or not.
 */
export interface AlbumStore {
  /** Adds a record; rejects with `conflict` when the id is taken. */
  insert(album: AlbumRecord): Promise<void>;
  /** The record, or `null`. */
  get(id: string): Promise<AlbumRecord | null>;
  /** Replaces the record whose revision is one less than that of the album; false if it has another one, or there is none. */
  replace(album: AlbumRecord): Promise<boolean>;
  /** Removes the record, or, where a revision is given, only that one; false if there is none. */
  remove(id: string, revision?: number): Promise<boolean>;
  /** Records that were due by the time, the longest due first. */
  dueBy(time: number, limit: number): Promise<AlbumRecord[]>;
  /** All records in batches, in any order; what changes meanwhile may be seen before or after it. */
  all(): AsyncIterable<AlbumRecord[]>;
}
