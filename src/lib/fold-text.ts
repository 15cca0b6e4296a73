/**
 * The form in which two texts are equal when they differ in letter case alone, or in how Unicode composes their
 * letters: `STRASSE` and `straße`, `ΣΑΣ` and `σας`, `é` in one code point or two. Idempotent. Searches compare
 * folded text with folded text, so that every store finds the same.
 */
export function foldText(text: string): string {
  const lower = text.toWellFormed().normalize('NFC').toUpperCase().toLowerCase();
  return lower.replaceAll('ς', 'σ').normalize('NFC');
}
