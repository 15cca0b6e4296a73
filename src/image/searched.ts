import { foldText } from '../lib/fold-text.ts';

/** Between the fields of an image; no field and no search contains it. */
export const FIELD_END = '\n';
const CONTROLS = /[\u0000-\u001f\u007f]/;

/** What of an image is searched. */
export interface Searched {
  id: string;
  filename: string;
  format: string;
}

/** The folded fields one after the other, such that no match runs from one into the next. */
export function searchedText({ filename, id, format }: Searched): string {
  return foldText([filename, id, format].join(FIELD_END));
}

/** What a searched text must contain if the user asks for `text`; `null` if none can. */
export function needleOf(text: string): string | null {
  const folded = foldText(text);
  return folded === '' || CONTROLS.test(folded) ? null : folded;
}
