import type { FieldsOf } from '../../lib/fields.ts';

/** Pictures of one album. */
export const MOST_PICTURES = 1000;

/** Longest title, in code points. */
export const MAX_TITLE = 200;

/** Everything that is remembered about an album. Times are ms since 1970. */
export interface AlbumRecord {
  /** 12 random letters and digits. */
  id: string;
  /** Grows by one with each change. */
  revision: number;
  /** Plain text, to be escaped wherever it is shown; empty if none was given. */
  title: string;
  /** 1: its page is not for search engines. */
  unlisted: 0 | 1;
  /** SHA-256 of its token in hexadecimal. */
  tokenHash: string;
  createdAt: number;
  /** 1: when it was last looked after, none of its pictures was there. */
  empty: 0 | 1;
  /** When it is looked after next: it goes when it is empty twice in a row. */
  dueAt: number;
  /** Ids of its pictures in their order, with a space between them. Some may be of pictures that are gone. */
  pictures: string;
}

/** The fields of an album as every store keeps them; its id is the key. A new one goes to the end. */
export const ALBUM_FIELDS: FieldsOf<Omit<AlbumRecord, 'id'>> = {
  revision: { kind: 'integer' },
  title: { kind: 'text' },
  unlisted: { kind: 'integer' },
  tokenHash: { kind: 'text' },
  createdAt: { kind: 'integer' },
  empty: { kind: 'integer' },
  dueAt: { kind: 'integer' },
  pictures: { kind: 'text' },
};

/** The ids of its pictures. */
export function picturesOf({ pictures }: Pick<AlbumRecord, 'pictures'>): string[] {
  return pictures === '' ? [] : pictures.split(' ');
}
