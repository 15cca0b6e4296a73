import type { Format } from '../codec/format.ts';
import type { Finding } from '../findings/finding.ts';
import type { Fence } from '../lib/locks.ts';
import type { ImageChange, ImageRecord } from './image.ts';

/** Maximum count of the matches of a search. */
export const MOST_COUNTED = 10_000;

/** How long an expired or used-up image is distinguished from one that never existed: 30 days. */
export const END_REMEMBERED_MS = 30 * 86_400_000;

/** Position of an image in the list: newest first, ties by ID. */
export type Place = Pick<ImageRecord, 'createdAt' | 'id'>;

export const placeOf = ({ createdAt, id }: Place): Place => ({ createdAt, id });

/** Position by last access: latest first, ties by ID, highest first. */
export type AccessPlace = Pick<ImageRecord, 'lastAccess' | 'id'>;

export interface Page<T> {
  items: T[];
  /** Number of all matches on all pages; for a search at most `MOST_COUNTED`. */
  total: number;
  /** False if there are more than `total`. */
  exact: boolean;
  /** The position of the last item if others follow, otherwise `null`. */
  next: Place | null;
}

/** Returns the first of the images, which include one more than fits if others follow, and where they follow. */
export function pageOf(
  images: readonly ImageRecord[],
  limit: number,
): Pick<Page<ImageRecord>, 'items' | 'next'> {
  const items = images.slice(0, limit);
  const last = items.at(-1);
  return { items, next: last && images.length > limit ? placeOf(last) : null };
}

/** Selects a page of the list. */
export interface PageQuery {
  /**
   * Only images whose file name, ID or format contains this text, as compared by `foldText`. Plain text without
   * wildcards.
   */
  text?: string;
  /** Only images after this position, whether or not an image is there. */
  after?: Place;
  /** Number of images to skip; in a search at most `MOST_COUNTED`. */
  offset: number;
  limit: number;
}

/** Statistics of all images. */
export interface ImageSummary {
  images: number;
  protected: number;
  /** Number of images without a password that are in no list. */
  unlisted: number;
  bytes: number;
  formats: { format: Format; count: number }[];
}

/**
 * Stores image records. All methods are atomic. Storage failures reject with `AppError('unavailable')`, a full disk
 * with `storage_full`.
 */
export interface ImageStore {
  /** Adds a record. Rejects with `conflict` if the ID is taken. */
  insert(image: ImageRecord): Promise<void>;
  /** Returns the record, or `null`. */
  get(id: string): Promise<ImageRecord | null>;
  /** Returns the existing records of those IDs, by ID. */
  getMany(ids: readonly string[]): Promise<Map<string, ImageRecord>>;
  /** Returns a page of the public images (no password, not unlisted), newest first, ties by ID. */
  list(query: PageQuery): Promise<Page<ImageRecord>>;
  /**
   * Returns the public image right before one in that list; `null` before the newest, and if the image is not in it.
   */
  newer(image: Place): Promise<ImageRecord | null>;
  /** Moves last accesses forward, never back. Unknown IDs are ignored. */
  touch(accesses: ReadonlyMap<string, number>): Promise<void>;
  /** Removes a record and leaves a tombstone. Returns false if there was none. */
  remove(id: string): Promise<boolean>;
  /** Applies all changes at once, and returns the record after them; `null` if there is none. */
  change(id: string, change: ImageChange): Promise<ImageRecord | null>;
  /**
   * Removes a record, and leaves a tombstone, if it was last accessed before the time and has no expiry. Returns
   * false if not, or if there was none. Rejects with `conflict` if the fence is older than one that the store has
   * seen.
   */
  removeIdle(id: string, before: number, fence?: Fence): Promise<boolean>;
  /** Returns records without an expiry that were last accessed before the time, the longest idle first. */
  idleSince(before: number, limit: number): Promise<ImageRecord[]>;
  /**
   * Takes one of an image's remaining views before its file is sent. Returns false if none is left, the views are not
   * limited, or the image does not exist. `token`: fresh for each view, so that a store may repeat the command. If it
   * is the last view and its server dies before ending it, it counts as seen at `until`, or at 0 where the store knows
   * that no server can send it.
   */
  takeView(id: string, token: string, until: number): Promise<boolean>;
  /**
   * Ends a view that was taken: it was seen, or is given back. If all views were seen, removes the record, leaves a
   * tombstone, and returns true.
   */
  endView(id: string, token: string, seen: boolean): Promise<boolean>;
  /**
   * Returns records that ended by the time, by expiry or by a last view that was never ended, in the order of their
   * ends.
   */
  endedBy(time: number, limit: number): Promise<ImageRecord[]>;
  /**
   * Removes a record that ended by the time, and leaves a tombstone. Returns false if it had not ended, or did not
   * exist.
   */
  removeEnded(id: string, time: number): Promise<boolean>;
  /** Reports whether an image with this ID ended, by `endView` or `removeEnded`, in the last `END_REMEMBERED_MS`. */
  hasEnded(id: string): Promise<boolean>;
  /**
   * Returns records, including protected ones, last accessed (or stored) first; with `after`, those after that
   * position.
   */
  recent(query: { offset: number; limit: number; after?: AccessPlace }): Promise<ImageRecord[]>;
  /**
   * Returns the perceptual hashes of all images that have one, in batches of ID and `phash`. Concurrent changes may
   * or may not be seen.
   */
  looks(): AsyncIterable<[id: string, phash: string][]>;
  /** Returns which of the IDs have a record. */
  existing(ids: readonly string[]): Promise<Set<string>>;
  summary(): Promise<ImageSummary>;
  /** Returns which of the IDs have a tombstone, or ended: the image was removed, and its files may still exist. */
  buried(ids: readonly string[]): Promise<Set<string>>;
  /**
   * Forgets tombstones that are at least this old, in ms, and ends that are no longer remembered. Call it once their
   * files are known to be gone.
   */
  dropTombstones(ageMs: number): Promise<void>;
  /**
   * Returns inconsistencies of the store: indices with more or fewer images than there are records. Can take seconds
   * with millions of images. Level `warn`: all records exist, and `repair` can rebuild the rest from them.
   */
  faults(): Promise<Finding[]>;
  /** Returns within milliseconds what `faults` found last, and whether all records are gone. */
  knownFaults(): Promise<Finding[]>;
  /** Prepares fast searches in the background. Resolves when it is done, or the signal aborts. */
  prepare(signal: AbortSignal): Promise<void>;
  /**
   * Returns what is being prepared, so that searches take longer, as a sentence for the operator; `null` if nothing
   * is.
   */
  preparing(): string | null;
  /** Rebuilds the indices from the records. Concurrent writes may keep it from finishing; it can be called again. */
  repair(): Promise<void>;
}

/** A file in the store. */
export interface BlobInfo {
  key: string;
  /** Bytes. */
  size: number;
  /** When it was written, ms since 1970. */
  modified: number;
}

/** Half-open range in bytes. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Stores image files. The service creates the keys from letters, digits, `.`, `-` and `/`. Storage failures reject
 * with `AppError('unavailable')`, a full disk with `storage_full`.
 */
export interface BlobStore {
  /**
   * Publishes the local file at `path` under `key`, and takes the file over: it no longer exists afterwards. Readers
   * see the whole blob or none. Replaces an existing blob.
   */
  put(key: string, path: string, mediaType: string): Promise<void>;
  /**
   * Returns the whole body, or a range within its size, as a file's `Blob` or a stream; `null` if there is no such
   * blob. A stream is complete, and has `size` bytes if the caller knows that.
   */
  get(key: string, range?: ByteRange, size?: number): Promise<Blob | ReadableStream<Uint8Array> | null>;
  /** Returns size and time, or `null`. */
  stat(key: string): Promise<BlobInfo | null>;
  /** Idempotent. */
  remove(key: string): Promise<void>;
  /**
   * Moves a blob to another key, replacing any blob there. Returns false if there is no such blob. Readers always
   * find it under at least one of the keys. It counts as written at the time of the move.
   */
  move(key: string, to: string): Promise<boolean>;
  /** Returns every blob, in any order, in batches. Concurrent changes may or may not be seen. */
  list(): AsyncIterable<BlobInfo[]>;
}
