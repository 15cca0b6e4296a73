import type { CandidateSink } from './candidate-sink.ts';
import { createLineCutter } from './lines.ts';
import { ADDRESS_FIELDS, takeCells, takeRecord } from './record.ts';
import type { Parser } from './source.ts';

/**
 * Parses cells separated by commas, semicolons or tabs, quoted or not. The first line is a header if one of
 * its cells is a name for the address. A quoted cell ends with its line: otherwise one stray quote would
 * swallow the rest of the list.
 */
export function createCsvParser(sink: CandidateSink): Parser {
  let header: string[] | null | undefined;
  let separator = ',';

  return createLineCutter(
    (text, start, end, number) => {
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
      if (!taken) sink.reject(number, line);
    },
    (number) => sink.reject(number),
  );
}

/**
 * Returns the separator of a first line, and the names of its cells if it is a header: if one is a name for
 * the address.
 */
export function columnsOf(line: string): { separator: string; names: string[] | null } {
  const separator = /[,;\t]/.exec(line)?.[0] ?? ',';
  const names = cut(line, separator).map((name) => name.toLowerCase());
  return { separator, names: names.some((name) => ADDRESS_FIELDS.includes(name)) ? names : null };
}

const MOST_CELLS = 64;

function cut(line: string, separator: string): string[] {
  const pieces = line.split(separator, MOST_CELLS);
  if (!line.includes('"')) return pieces.map((piece) => piece.trim());
  const cells: string[] = [];
  let cell: string | null = null;
  for (const piece of pieces) {
    cell = cell === null ? piece.trim() : cell + separator + piece;
    // Quotes within a cell come in pairs. An odd number shows that the separator is part of the cell.
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
