import type { ImageRecord } from '../image.ts';

/** Separates the fields of an image. No field and no search contains it. */
export const FIELD_END = '\n';
const CONTROLS = /[\u0000-\u001f\u007f]/;

/** Accents, umlauts, breves and other marks, as separate characters. */
const ACCENTS = /[\u0300-\u036f]/g;

/** The searchable fields of an image. */
export type Searched = Pick<ImageRecord, 'id' | 'filename' | 'format' | 'title' | 'alt'>;

/** Number of words of a search that count. */
const MOST_WORDS = 8;

/**
 * Folds text, so that texts are equal if they differ only in case, in accents, or in Unicode composition: `STRASSE`
 * and `straße`, `ΣΑΣ` and `σας`, `Café` and `cafe`. Idempotent. Searches compare folded text, so that every store
 * finds the same.
 */
export function foldText(text: string): string {
  const lower = text.toWellFormed().normalize('NFC').toUpperCase().toLowerCase();
  return lower.normalize('NFD').replace(ACCENTS, '').replaceAll('ς', 'σ').normalize('NFC');
}

/** Returns the folded fields, separated so that no match spans two of them. */
export function searchedText({ filename, id, format, title, alt }: Searched): string {
  return foldText([filename, id, format, title, alt].filter((field) => field !== null).join(FIELD_END));
}

/**
 * Returns the words that a searched text must contain, in any order, if the user searches for `text`; none if nothing
 * can match.
 */
export function needlesOf(text: string): string[] {
  const folded = foldText(text);
  if (CONTROLS.test(folded)) return [];
  const words = [...new Set(folded.split(/\s+/))];
  return words
    .filter((word) => word !== '' && !words.some((other) => other !== word && other.includes(word)))
    .slice(0, MOST_WORDS);
}

/** Reports whether searches find the one by the same words as the other. */
export function isSearchedAlike(one: Searched, other: Searched): boolean {
  return searchedText(one) === searchedText(other);
}

/** Reports whether a searched text contains all words. */
export function containsAll(text: string, needles: readonly string[]): boolean {
  return needles.every((needle) => text.includes(needle));
}
