import { FIELD_END, needleOf } from '../../src/image/searched.ts';

/** The index has sequences of three characters, so shorter texts are not in it. */
const GRAM = 3;

/**
 * Returns the characters of a text and its pairs of neighbours, each as a word of digits and letters, for searches of
 * one and two characters. The letter z, which is not a base-35 digit, separates two neighbours.
 */
export function shortWords(text: string): string {
  let words = '';
  let before = '';
  for (const character of text) {
    const word = character === FIELD_END ? '' : (character.codePointAt(0) ?? 0).toString(35);
    if (word !== '') words += before === '' ? `${word} ` : `${word} ${before}z${word} `;
    before = word;
  }
  return words;
}

/**
 * Maximum number of characters in an index query: if all parts of a text are frequent, its time grows with their
 * number, and it blocks other work.
 */
const MOST_ASKED = 24;

/** How to find a text. */
export interface Pattern {
  folded: string;
  /** The index to use, and its query. */
  table: 'image_text' | 'image_short';
  match: string;
  /** False if a result of the index may not contain the whole text. */
  exact: boolean;
}

/** Returns the pattern of a text, or `null` if nothing can contain it. */
export function patternOf(text: string): Pattern | null {
  const folded = needleOf(text);
  if (folded === null) return null;
  const characters = [...folded];
  const { length } = characters;
  if (length >= GRAM) {
    const asked = characters.slice(0, MOST_ASKED).join('').replaceAll('"', '""');
    return { folded, table: 'image_text', match: `"${asked}"`, exact: length <= MOST_ASKED };
  }
  const words = shortWords(folded).split(' ');
  return { folded, table: 'image_short', match: `"${words[length === 1 ? 0 : 2]}"`, exact: true };
}
