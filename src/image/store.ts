import type { Fence } from '../lib/locks.ts';
import type { Format, ImageChange, ImageRecord } from './image.ts';

/** Matches of a search are counted up to this number. */
export const MOST_COUNTED = 10_000;

/** So long an image that came to its end is told from one that never was: 30 days. */
export const END_REMEMBERED_MS = 30 * 86_400_000;

/** Position of an image in the list: newest first, ties by id. */
export type Place = Pick<ImageRecord, 'createdAt' | 'id'>;

export const placeOf = ({ createdAt, id }: Place): Place => ({ createdAt, id });

/** Position by last access: the latest first, ties by id, the highest first. */
export type AccessPlace = Pick<ImageRecord, 'lastAccess' | 'id'>;

export interface Page<T> {
  items: T[];
  /** All matches, on every page; of a search no more than `MOST_COUNTED`. */
  total: number;
  /** False if there are more than `total`. */
  exact: boolean;
  /** The place of the last item if others follow it; else `null`. */
  next: Place | null;
}

/** Which page of the list is meant. */
export interface PageQuery {
  /** Only images whose file name, id or format contains it as `foldText` compares. Plain text without wildcards. */
  text?: string;
  /** Only images that come later in the list than this place, be there an image or not. */
  after?: Place;
  /** Images to leave out at the start, of a search only among the first `MOST_COUNTED`. */
  offset: number;
  limit: number;
}

/** Numbers about all images. */
export interface ImageSummary {
  images: number;
  /** How many of them have a password. */
  protected: number;
  /** How many have none and are in no list. */
  unlisted: number;
  bytes: number;
  formats: { format: Format; count: number }[];
}

/** What a store of records has found wrong with itself. */
export interface StoreFault {
  /** For the operator. */
  message: string;
  /** True if all records are there, and `repair` builds from them what is missing. */
  mendable: boolean;
}

/**
 * Where image records live. All methods are atomic; failures of the storage itself reject with
 * `AppError('unavailable')`, a full disk with `storage_full`.
 */
export interface ImageStore {
  /** Adds a record; rejects with `conflict` when the id is taken. */
  insert(image: ImageRecord): Promise<void>;
  /**
   * Resolves when the record, which was inserted, is kept as safely as the store was told to keep it. Rejects with `unavailable`
   * if that is not certain: the record may be there then or not.
   */
  confirm(id: string): Promise<void>;
  /** The record, or `null`. */
  get(id: string): Promise<ImageRecord | null>;
  /** The records of those ids that have one, by id. */
  getMany(ids: readonly string[]): Promise<Map<string, ImageRecord>>;
  /** A page of the public images (no password, not unlisted), newest first, ties by id. */
  list(query: PageQuery): Promise<Page<ImageRecord>>;
  /** The public image right before one in that list; `null` before the newest, and if the image is not in it. */
  newer(image: Place): Promise<ImageRecord | null>;
  /** Moves last accesses forward, never back; unknown ids are passed over. */
  touch(accesses: ReadonlyMap<string, number>): Promise<void>;
  /** Removes a record and leaves a tombstone; false when there was none. */
  remove(id: string): Promise<boolean>;
  /** Changes what is given, all at once, and answers the record as it is then; `null` when there is none. */
  change(id: string, change: ImageChange): Promise<ImageRecord | null>;
  /**
   * Removes a record, and leaves a tombstone, if it was last accessed before the time and has no end of its own; false when
   * not, or there was none. Rejects with `conflict` if the fence is older than one that the store has seen.
   */
  removeIdle(id: string, before: number, fence?: Fence): Promise<boolean>;
  /** Records without an end of their own that were last accessed before the time, the longest idle first. */
  idleSince(before: number, limit: number): Promise<ImageRecord[]>;
  /**
   * Takes one of the views that an image has left, before its file is sent; false if none is left, the image has no limit, or
   * there is none. `token`: fresh for each view, so that a store may repeat the command. Where it is the last one
   * and nobody ends it, as its server died, it counts as seen at `until`.
   */
  takeView(id: string, token: string, until: number): Promise<boolean>;
  /**
   * Ends a view that was taken: it was seen, or is given back. Removes the record where all views were seen, leaves a
   * tombstone, and answers true then.
   */
  endView(id: string, token: string, seen: boolean): Promise<boolean>;
  /** Records whose end, by expiry or by a last view that nobody ended, was not after the time; the first to end first. */
  endedBy(time: number, limit: number): Promise<ImageRecord[]>;
  /** Removes a record whose end was not after the time, and leaves a tombstone; false when it was, or there was none. */
  removeEnded(id: string, time: number): Promise<boolean>;
  /** Whether an image with this id came to its end, by `endView` or `removeEnded`, in the last `END_REMEMBERED_MS`. */
  hasEnded(id: string): Promise<boolean>;
  /** Records, protected ones too, last accessed (or stored) first; with `after`, those behind that place. */
  recent(query: { offset: number; limit: number; after?: AccessPlace }): Promise<ImageRecord[]>;
  /** The looks of all images that have any, in batches of id and `phash`; what changes meanwhile may or may not be seen. */
  looks(): AsyncIterable<[id: string, phash: string][]>;
  /** Which of the ids have a record. */
  existing(ids: readonly string[]): Promise<Set<string>>;
  summary(): Promise<ImageSummary>;
  /** Which of the ids have a tombstone, or came to their end: the image was removed, and its files may still be there. */
  buried(ids: readonly string[]): Promise<Set<string>>;
  /**
   * Forgets the tombstones that are at least so old, in ms, and the ends that are not remembered any more. To be called when
   * their files were seen to be gone.
   */
  dropTombstones(ageMs: number): Promise<void>;
  /** What in the store contradicts itself: indices that know more or fewer images than there are records. */
  faults(): Promise<StoreFault[]>;
  /** Prepares in the background what makes searches fast. Resolves when it is done, or the signal aborts. */
  prepare(signal: AbortSignal): Promise<void>;
  /** What is being prepared, so that searches take longer, in a sentence for the operator; `null`: nothing is. */
  preparing(): string | null;
  /**
   * Builds the indices again from the records. What is written meanwhile may keep it from ending; it may be called again.
   */
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
 * Where image files live. Keys are made by the service: letters, digits, `.`, `-` and `/`. Failures of the
 * storage itself reject with `AppError('unavailable')`, a full disk with `storage_full`.
 */
export interface BlobStore {
  /**
   * Publishes the local file at `path` under `key` and takes the file over: afterwards it is gone. Readers see
   * the whole blob or none. Replaces what was there.
   */
  put(key: string, path: string, mediaType: string): Promise<void>;
  /** The body, the whole or a range within its size, as a file's `Blob` or a stream; `null` when there is no such blob. */
  get(key: string, range?: ByteRange): Promise<Blob | ReadableStream<Uint8Array> | null>;
  /** Size and time, or `null`. */
  stat(key: string): Promise<BlobInfo | null>;
  /** Idempotent. */
  remove(key: string): Promise<void>;
  /**
   * Moves a blob to another key, replacing what was there; false if there is no such blob. Readers find it under one
   * of the keys at least. It counts as written at the time of the move.
   */
  move(key: string, to: string): Promise<boolean>;
  /** Every blob, in any order, in batches; what changes meanwhile may or may not be seen. */
  list(): AsyncIterable<BlobInfo[]>;
}
