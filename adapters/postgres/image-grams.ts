/**
 * An index of one or two of these characters would match a large share of all images, because every ID consists of
 * them.
 */
const COMMON = /^[a-z0-9]+$/;

/** Length of the longest sequences in the index. */
const GRAM = 3;
/** Maximum number of sequences in a query. The matches are checked anyway. */
const MOST_ASKED = 24;

/**
 * Returns the sequences of three characters in a folded text, and rare ones of one or two, each as a 32-bit number.
 * Two sequences may share a number. Unlike words and trigrams of Postgres, the numbers do not depend on the locale of
 * the database.
 */
export function gramsOf(text: string): number[] {
  const characters = [...text];
  const grams = new Set<number>();
  for (let first = 0; first < characters.length; first++) {
    let gram = '';
    for (let length = 1; length <= GRAM && first + length <= characters.length; length++) {
      gram += characters[first + length - 1];
      if (length === GRAM || !COMMON.test(gram)) grams.add(numberOf(gram));
    }
  }
  return [...grams];
}

/**
 * Returns the numbers that the index has for every text that contains the needles; none if the index does not help.
 */
export function askedGrams(needles: readonly string[]): number[] {
  const grams = new Set<number>();
  // Some of each, because the rare one finds most.
  const most = Math.max(GRAM, Math.floor(MOST_ASKED / needles.length));
  for (const needle of needles) {
    const characters = [...needle].slice(0, most);
    const length = Math.min(GRAM, characters.length);
    if (length < GRAM && COMMON.test(needle)) continue;
    for (let first = 0; first + length <= characters.length; first++) {
      grams.add(numberOf(characters.slice(first, first + length).join('')));
    }
  }
  return [...grams];
}

/** FNV-1a over the code points. */
function numberOf(gram: string): number {
  let hash = 0x811c9dc5;
  for (const character of gram) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return hash;
}
