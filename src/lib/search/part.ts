import { Buffer } from 'node:buffer';

/** What decides where a document stands: newest first, ties by id. */
export interface Placed {
  id: string;
  createdAt: number;
}

/** A document as it is searched. */
export interface Entry extends Placed {
  /** Its folded fields, each followed by `FIELD_END`, which no field contains. */
  text: string;
}

export const FIELD_END = '\n';

/** A folded text to search for, in both forms. */
export interface Pattern {
  text: string;
  /** UTF-8. */
  bytes: Uint8Array;
}

/** Some of the documents of an index. A document's text has its id as one of its fields. */
export interface Part {
  /** The first and the last of the order; removed documents may count. `null` while there were none. */
  ends(): { newest: Placed; oldest: Placed } | null;
  has(document: Placed): boolean;
  /** How many documents contain the text. */
  count(pattern: Pattern): number;
  /** The first of those documents, up to `most`, and how many there are. */
  find(pattern: Pattern, most: number): { first: Placed[]; total: number };
  /** Removes the document and answers its text; `null` where there is none. */
  remove(id: string): string | null;
  /** All documents, the last of the order first. */
  entries(): Entry[];
}

/** Below 0 where `a` stands before `b`. */
export function compare(a: Placed, b: Placed): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** The first of `count` places, in the reverse of the order, that does not come before the document. */
export function placeOf(document: Placed, count: number, at: (place: number) => Placed): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(at(middle), document) > 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function toPattern(text: string): Pattern {
  return { text, bytes: Buffer.from(text) };
}
