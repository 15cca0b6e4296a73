/** Characters of which an index of one or two would name a good part of all images: every id is made of them. */
const COMMON = /^[a-z0-9]+$/;

/** Length of the longest sequences in the index. */
const GRAM = 3;
/** A search asks for so many sequences at most; what the index finds is looked at anyway. */
const MOST_ASKED = 24;

/**
 * The sequences of three characters in a folded text, and those of one or two that are rare, each as a number of 32 bits. Two
 * sequences may share a number. Numbers do not depend on the locale of the database, as words and trigrams of Postgres do.
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

/** The numbers that the index must know of a text that contains the needle; none if the index is of no use. */
export function askedGrams(needle: string): number[] {
  const characters = [...needle].slice(0, MOST_ASKED);
  const length = Math.min(GRAM, characters.length);
  if (length < GRAM && COMMON.test(needle)) return [];
  const grams = new Set<number>();
  for (let first = 0; first + length <= characters.length; first++) {
    grams.add(numberOf(characters.slice(first, first + length).join('')));
  }
  return [...grams];
}

/** FNV-1a over the code points. */
function numberOf(gram: string): number {
  let hash = 0x811c9dc5;
  for (const character of gram) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return hash;
}
