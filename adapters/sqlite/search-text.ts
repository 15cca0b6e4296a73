import { FIELD_END, needleOf } from '../../src/image/searched.ts';

/** Shorter texts are not in the index of sequences of three characters. */
const GRAM = 3;

/**
 * The characters of a text and its pairs of neighbours, each as a word of digits and letters, for texts of one and two
 * characters. The letter z, which is no digit to the base 35, stands between two neighbours.
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
 * The index is asked for no more characters than these: where all parts of a text are frequent, its time grows with their
 * number, and no other work gets its turn meanwhile.
 */
const MOST_ASKED = 24;

/** How a text is found. */
export interface Pattern {
  folded: string;
  /** The index that knows it, and what that is asked. */
  table: 'image_text' | 'image_short';
  match: string;
  /** False if what the index finds may not contain all of the text. */
  exact: boolean;
}

/** The pattern of a text, or `null` if nothing can contain it. */
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
