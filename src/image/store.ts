import type { Fence } from '../lib/locks.ts';
import type { Format, ImageRecord } from './image.ts';

/** Matches of a search are counted up to this number. */
export const MOST_COUNTED = 10_000;

/** Where an image stands in the list: newest first, ties by id. */
export type Place = Pick<ImageRecord, 'createdAt' | 'id'>;

export interface Page<T> {
  items: T[];
  /** All matches, on every page; of a search no more than `MOST_COUNTED`. */
  total: number;
  /** False where there are more than `total`. */
  exact: boolean;
  /** The place of the last item where others follow it; else `null`. */
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
  bytes: number;
  formats: { format: Format; count: number }[];
}

/** What a store of records has found wrong with itself. */
export interface StoreFault {
  /** For the operator. */
  message: string;
  /** True where all records are there, and `repair` builds from them what is missing. */
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
   * where that is not certain: the record may be there then or not.
   */
  confirm(id: string): Promise<void>;
  /** The record, or `null`. */
  get(id: string): Promise<ImageRecord | null>;
  /** A page of the public images (no password), newest first, ties by id. */
  list(query: PageQuery): Promise<Page<ImageRecord>>;
  /** Moves last accesses forward, never back; unknown ids are passed over. */
  touch(accesses: ReadonlyMap<string, number>): Promise<void>;
  /** Removes a record and leaves a tombstone; false when there was none. */
  remove(id: string): Promise<boolean>;
  /**
   * Removes a record, and leaves a tombstone, if it was last accessed before the time; false when it was not, or there
   * was none. Rejects with `conflict` where the fence is older than one that the store has seen.
   */
  removeIdle(id: string, before: number, fence?: Fence): Promise<boolean>;
  /** Records last accessed before the time, the longest idle first. */
  idleSince(before: number, limit: number): Promise<ImageRecord[]>;
  /** Records, protected ones too, last accessed (or stored) first. */
  recent(query: { offset: number; limit: number }): Promise<ImageRecord[]>;
  /** Which of the ids have a record. */
  existing(ids: readonly string[]): Promise<Set<string>>;
  summary(): Promise<ImageSummary>;
  /** Which of the ids have a tombstone: the image was removed, and its files may still be there. */
  buried(ids: readonly string[]): Promise<Set<string>>;
  /** Forgets the tombstones that are at least so old, in ms. To be called when their files were seen to be gone. */
  dropTombstones(ageMs: number): Promise<void>;
  /** What in the store contradicts itself: indices that know more or fewer images than there are records. */
  faults(): Promise<StoreFault[]>;
  /** Prepares in the background what makes searches fast. Resolves when it is done, or the signal aborts. */
  prepare(signal: AbortSignal): Promise<void>;
  /** What is being prepared, so that searches take longer, in a sentence for the operator; `null`: nothing is. */
  preparing(): string | null;
  /**
   * Builds the indices anew from the records. What is written meanwhile may keep it from ending; it may be called again.
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
   * Moves a blob to another key, replacing what was there; false where there is no such blob. Readers find it under one
   * of the keys at least. It counts as written at the time of the move.
   */
  move(key: string, to: string): Promise<boolean>;
  /** Every blob, in any order, in batches; what changes meanwhile may or may not be seen. */
  list(): AsyncIterable<BlobInfo[]>;
}
