import { foldText } from '../lib/fold-text.ts';

/** Separates the fields of an image. No field and no search contains it. */
export const FIELD_END = '\n';
const CONTROLS = /[\u0000-\u001f\u007f]/;

/** The searchable fields of an image. */
export interface Searched {
  id: string;
  filename: string;
  format: string;
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
