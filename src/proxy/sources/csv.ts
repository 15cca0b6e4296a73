import type { CandidateSink } from './candidate-sink.ts';
import { createLineCutter } from './lines.ts';
import type { Parser } from './parsing.ts';
import { ADDRESS_FIELDS, takeCells, takeRecord } from './record.ts';

/**
 * Cells between commas, semicolons or tabs, quoted or not. The first line is a header when one of its cells is the
 * name of an address. A quoted cell ends with its line: else one stray quote would swallow the rest of the list.
 */
export function createCsvParser(sink: CandidateSink): Parser {
  let header: string[] | null | undefined;
  let separator = ',';

  return createLineCutter((text, start, end) => {
    const line = text.slice(start, end).replace(/^\ufeff/, '');
    if (line.trim() === '' || line.startsWith('#')) return;
    if (header === undefined) {
      ({ separator, names: header } = columnsOf(line));
      if (header) return;
    }
    const cells = cut(line, separator);
    const taken = header
      ? takeRecord(Object.fromEntries(header.map((name, i) => [name, cells[i] ?? ''])), sink)
      : takeCells(cells, sink);
    if (!taken) sink.reject();
  }, sink.reject);
}

/** What separates the cells of a first line, and their names where it is a header: where one is that of an address. */
export function columnsOf(line: string): { separator: string; names: string[] | null } {
  const separator = /[,;\t]/.exec(line)?.[0] ?? ',';
  const names = cut(line, separator).map((name) => name.toLowerCase());
  return { separator, names: names.some((name) => ADDRESS_FIELDS.includes(name)) ? names : null };
}

/** Most cells of a row that are looked at. */
const MOST_CELLS = 64;

function cut(line: string, separator: string): string[] {
  const pieces = line.split(separator, MOST_CELLS);
  if (!line.includes('"')) return pieces.map((piece) => piece.trim());
  const cells: string[] = [];
  let cell: string | null = null;
  for (const piece of pieces) {
    cell = cell === null ? piece.trim() : cell + separator + piece;
    // Within a cell quotes come in pairs: an odd number shows that the separator belonged to it.
    if (cell.includes('"') && cell.split('"').length % 2 === 0) continue;
    cells.push(unquote(cell));
    cell = null;
  }
  if (cell !== null) cells.push(unquote(cell));
  return cells;
}

function unquote(cell: string): string {
  const text = cell.trim();
  return text.startsWith('"')
    ? text.slice(1, text.endsWith('"') ? -1 : undefined).replaceAll('""', '"')
    : text;
}
