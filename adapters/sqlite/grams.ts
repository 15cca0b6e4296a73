import { foldText } from '../../src/shared/fold-text.ts';

/**
 * Substring search over FTS5. SQLite's own `trigram` tokenizer cannot find fewer than three characters; here the
 * tokens are made in JavaScript: at every position of a text the next three characters, fewer at its end. One or
 * two characters are then the beginning of a token, which the prefix indexes answer, and longer texts are a phrase of
 * whole tokens, which never runs from one field into the next because every field ends in shorter tokens.
 */

const SEPARATOR = '\n';
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Longer than any folded file name of 255 characters. */
const MAX_QUERY_LENGTH = 1000;

const PUNCTUATION = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index))
  .filter((character) => !/[0-9A-Za-z]/.test(character))
  .join('');

/** The value of `tokenize`: every printable character is part of a token, only control characters separate. */
export const TOKENIZER = quote(`ascii tokenchars '${PUNCTUATION.replaceAll("'", "''")}'`);

/** What the index holds for a row whose fields are these (folded). */
export function indexText(fields: readonly string[]): string {
  return fields.flatMap((field) => tokens([...field])).join(SEPARATOR);
}

/** The fields of an image that the search looks at, folded. */
export function searchFields(image: { filename: string; id: string; format: string }): string[] {
  return [image.filename, image.id, image.format].map(foldText);
}

/** The FTS5 query for rows with a field that contains the folded text, or `null` where no field can. */
export function matchQuery(text: string): string | null {
  const characters = [...text];
  if (characters.length === 0 || text.length > MAX_QUERY_LENGTH || CONTROL.test(text)) return null;
  if (characters.length < 3) return `${quote(text)} *`;
  return quote(tokens(characters).slice(0, -2).join(SEPARATOR));
}

function tokens(characters: string[]): string[] {
  return characters.map((_, index) => characters.slice(index, index + 3).join(''));
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
