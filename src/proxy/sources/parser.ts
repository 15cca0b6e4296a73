import { type CandidateSinkOptions, createCandidateSink, type Tally } from './candidate-sink.ts';
import { createCsvParser } from './csv.ts';
import { createHtmlParser } from './html.ts';
import { createJsonParser } from './json.ts';
import { createLinesParser } from './lines.ts';
import type { Parser, SourceFormat } from './source.ts';
import { tellsFormat, toldFormat } from './told-format.ts';

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
