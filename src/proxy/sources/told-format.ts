import { columnsOf } from './csv.ts';
import type { SourceFormat } from './source.ts';

/** This many characters show the format if no line ends before. */
const ENOUGH = 256;

const PAGE = /^<(!doctype html|html|head|body)/i;
/** `[` alone proves nothing: a line may begin with `[2001:db8::1]:8080`. */
const JSON_TEXT = /^(\{\s*(["}]|$)|\[\s*([[{"\]]|$))/;
/** If cells follow, it may be a CSV row instead. */
const LINE = /^"?([a-z]+\d?[ah]?:\/\/)?\d{1,3}(\.\d{1,3}){3}:\d{1,5}"?(\s|$)/i;
const ROW = /^"?\d{1,3}(\.\d{1,3}){3}"?\s*[,;]\s*"?\d{1,5}\b/;

/** Reports whether this beginning of a list is enough to recognise its format. */
export function tellsFormat(opening: string): boolean {
  return opening.length >= ENOUGH || /[\r\n]/.test(opening);
}

/**
 * Returns the format that the beginning of a list shows, regardless of its name: JSON under `.list`, lines
 * under `.json`, a page instead of a file. Returns `null` if it is ambiguous.
 */
export function toldFormat(opening: string): SourceFormat | null {
  const [line = ''] = opening
    .trimStart()
    .slice(0, ENOUGH)
    .split(/[\r\n]/, 1);
  if (PAGE.test(line)) return 'html';
  if (JSON_TEXT.test(line)) return 'json';
  if (LINE.test(line)) return 'lines';
  const { names } = columnsOf(line);
  return ROW.test(line) || (names !== null && names.length > 1) ? 'csv' : null;
}
