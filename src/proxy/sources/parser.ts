import { type CandidateSinkOptions, createCandidateSink, type Tally } from './candidate-sink.ts';
import { columnsOf, createCsvParser } from './csv.ts';
import { createHtmlParser } from './html.ts';
import { createJsonParser } from './json.ts';
import { createLinesParser } from './lines.ts';
import type { Parser, SourceFormat } from './source.ts';

const PARSERS = {
  lines: createLinesParser,
  csv: createCsvParser,
  json: createJsonParser,
  html: createHtmlParser,
};

/**
 * Creates a parser for one list, with counts of what it has found so far. The beginning of the list decides
 * the format; `format` is used if that is ambiguous.
 */
export function createParser(format: SourceFormat, options: CandidateSinkOptions): Parser & { tally: Tally } {
  const sink = createCandidateSink(options);
  let opening = '';
  let parser: Parser | null = null;

  function begin(): Parser {
    const begun = PARSERS[toldFormat(opening) ?? format](sink);
    begun.push(opening);
    opening = '';
    return begun;
  }

  return {
    tally: sink.tally,
    push(text) {
      if (parser) return parser.push(text);
      opening = (opening + text).trimStart();
      if (tellsFormat(opening)) parser = begin();
    },
    end() {
      parser ??= begin();
      parser.end();
    },
  };
}

/** This many characters show the format if no line ends before. */
const ENOUGH = 256;

const PAGE = /^<(!doctype html|html|head|body)/i;
/** `[` alone proves nothing: a line may begin with `[2001:db8::1]:8080`. */
const JSON_TEXT = /^(\{\s*(["}]|$)|\[\s*([[{"\]]|$))/;
/** If cells follow, it may be a CSV row instead. */
const LINE = /^"?([a-z]+\d?[ah]?:\/\/)?\d{1,3}(\.\d{1,3}){3}:\d{1,5}"?(\s|$)/i;
const ROW = /^"?\d{1,3}(\.\d{1,3}){3}"?\s*[,;]\s*"?\d{1,5}\b/;

/** Reports whether this beginning of a list is enough to recognise its format. */
function tellsFormat(opening: string): boolean {
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
