import { type CandidateSinkOptions, createCandidateSink, type Tally } from './candidate-sink.ts';
import { createCsvParser } from './csv.ts';
import { createHtmlParser } from './html.ts';
import { createJsonParser } from './json.ts';
import { createLinesParser } from './lines.ts';
import type { SourceFormat } from './source.ts';

/** Takes a list piece by piece, cut anywhere. It never throws, and holds at most about a million characters. */
export interface Parser {
  push(text: string): void;
  /** The list has ended: what is still held is read. */
  end(): void;
}

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
