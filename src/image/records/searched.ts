/** Separates the fields of an image. No field and no search contains it. */
export const FIELD_END = '\n';
const CONTROLS = /[\u0000-\u001f\u007f]/;

/** Accents, umlauts, breves and other marks, as separate characters. */
const ACCENTS = /[\u0300-\u036f]/g;

/** The searchable fields of an image. */
export interface Searched {
  id: string;
  filename: string;
  format: string;
}

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
export function searchedText({ filename, id, format }: Searched): string {
  return foldText([filename, id, format].join(FIELD_END));
}

/** Returns what a searched text must contain if the user searches for `text`, or `null` if nothing can match. */
export function needleOf(text: string): string | null {
  const folded = foldText(text);
  return folded === '' || CONTROLS.test(folded) ? null : folded;
}
