/** Accents, umlauts, breves and other marks, as separate characters. */
const ACCENTS = /[\u0300-\u036f]/g;

/**
 * Folds text, so that texts are equal if they differ only in case, in accents, or in Unicode composition: `STRASSE`
 * and `straße`, `ΣΑΣ` and `σας`, `Café` and `cafe`. Idempotent. Searches compare folded text, so that every store
 * finds the same.
 */
export function foldText(text: string): string {
  const lower = text.toWellFormed().normalize('NFC').toUpperCase().toLowerCase();
  return lower.normalize('NFD').replace(ACCENTS, '').replaceAll('ς', 'σ').normalize('NFC');
}
