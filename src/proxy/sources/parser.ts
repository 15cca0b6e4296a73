import { type CandidateSinkOptions, createCandidateSink, type Tally } from './candidate-sink.ts';
import { createCsvParser } from './csv.ts';
import { createHtmlParser } from './html.ts';
import { createJsonParser } from './json.ts';
import { createLinesParser } from './lines.ts';
import type { Parser } from './parsing.ts';
import type { SourceFormat } from './source.ts';

const PARSERS = {
  lines: createLinesParser,
  csv: createCsvParser,
  json: createJsonParser,
  html: createHtmlParser,
};

/** A parser of one list, and the counts of what it has found so far. */
export function createParser(format: SourceFormat, options: CandidateSinkOptions): Parser & { tally: Tally } {
  const sink = createCandidateSink(options);
  return { ...PARSERS[format](sink), tally: sink.tally };
}
