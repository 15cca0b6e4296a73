/** Accents, umlauts, breves and the like, as characters of their own. */
const ACCENTS = /[\u0300-\u036f]/g;

/**
 * The form in which two texts are equal when they differ in letter case, in accents, or in how Unicode composes their
 * letters: `STRASSE` and `straße`, `ΣΑΣ` and `σας`, `Café` and `cafe`. Idempotent. Searches compare folded text with
 * folded text, so that every store finds the same.
 */
export function foldText(text: string): string {
  const lower = text.toWellFormed().normalize('NFC').toUpperCase().toLowerCase();
  return lower.normalize('NFD').replace(ACCENTS, '').replaceAll('ς', 'σ').normalize('NFC');
}
