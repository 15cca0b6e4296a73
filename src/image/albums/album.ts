import type { FieldsOf } from '../../lib/fields.ts';

export const MOST_PICTURES = 1000;

/** Maximum length of a title, in code points. */
export const MAX_TITLE = 200;

/** Everything stored about an album. Times are ms since 1970. */
export interface AlbumRecord {
  /** 12 random letters and digits. */
  id: string;
  /** Increases by one with each change. */
  revision: number;
  /** Plain text, to be escaped wherever it is shown; empty if none was given. */
  title: string;
  /** 1: search engines must not index its page. */
  unlisted: 0 | 1;
  /** SHA-256 of its token in hexadecimal. */
  tokenHash: string;
  createdAt: number;
  /** 1: none of its pictures existed at the last check. */
  empty: 0 | 1;
  /** When it is checked next. It is removed after two checks in a row without pictures. */
  dueAt: number;
  /** IDs of its pictures in order, separated by spaces. Some pictures may no longer exist. */
  pictures: string;
  /** ID of the picture that stands for it; empty: the first one. It may no longer exist. */
  cover: string;
  /** Its invitations, and what came by them, as `guestsOf` reads it; empty if there were none. */
  guests: string;
}

/** The fields of an album as every store keeps them; its ID is the key. A new field goes to the end. */
export const ALBUM_FIELDS: FieldsOf<Omit<AlbumRecord, 'id'>> = {
  revision: { kind: 'integer' },
  title: { kind: 'text' },
  unlisted: { kind: 'integer' },
  tokenHash: { kind: 'text' },
  createdAt: { kind: 'integer' },
  empty: { kind: 'integer' },
  dueAt: { kind: 'integer' },
  pictures: { kind: 'text' },
  cover: { kind: 'text', added: '' },
  guests: { kind: 'text', added: '' },
};

/** Returns the IDs of its pictures. */
export function picturesOf({ pictures }: Pick<AlbumRecord, 'pictures'>): string[] {
  return pictures === '' ? [] : pictures.split(' ');
}

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
