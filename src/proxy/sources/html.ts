import type { CandidateSink } from './candidate-sink.ts';
import { createLinesParser } from './lines.ts';
import { takeCells } from './record.ts';
import type { Parser } from './source.ts';

const LONGEST_TAG = 16_384;
const LONGEST_CELL = 256;
/** Of a skipped part, only what may be the beginning of its end is kept. */
const LONGEST_END = 16;
const MOST_CELLS = 64;
/** Tags that do not end a line of text. */
const INLINE = /^\/?(a|b|i|u|em|strong|small|span|font|code|abbr|time|img|wbr)$/;
/** Elements whose content is not text of the page. */
const HIDDEN = /^(script|style|noscript|template)$/;

/**
 * Reads the rows of tables as cells, and all other text (mainly of a `textarea` or `pre`) as lines. Builds no
 * tree: the tags only separate text.
 */
export function createHtmlParser(sink: CandidateSink): Parser {
  const quiet: CandidateSink = { ...sink, reject: () => {} };
  const lines = createLinesParser(quiet);
  let text = '';
  let row: string[] | null = null;
  let cell: string | null = null;
  /** Ends where the part ends that is being skipped: after `-->`, or before `</script`. */
  let until: RegExp | null = null;
  /** Where the next `>` is, or -1 if that is not known. Looking for it from each `<` would take quadratic time. */
  let tagEnd = -1;

  function endCell(): void {
    if (cell === null) return;
    if (row && row.length < MOST_CELLS) row.push(cell.replace(/&nbsp;|\s+/g, ' ').trim());
    cell = null;
  }

  function endRow(): void {
    endCell();
    if (row && row.length > 0 && !takeCells(row, sink)) sink.reject();
    row = null;
  }

  function onText(piece: string): void {
    if (cell === null) lines.push(piece);
    else if (cell.length < LONGEST_CELL) cell += piece.slice(0, LONGEST_CELL);
  }

  function onTag(tag: string): void {
    const name = (/^\/?[a-z][a-z0-9]*/i.exec(tag)?.[0] ?? '').toLowerCase();
    if (name === 'td' || name === 'th') {
      endCell();
      row ??= [];
      cell = '';
    } else if (name === '/td' || name === '/th') endCell();
    else if (/^\/?(tr|table|tbody|thead)$/.test(name)) endRow();
    else if (HIDDEN.test(name)) until = new RegExp(`(?=</${name})`, 'gi');
    else if (!INLINE.test(name)) onText(cell === null ? '\n' : ' ');
  }

  /** Skips one item at `at`. Returns where the next begins, or -1 if more text is needed. */
  function step(at: number): number {
    if (until !== null) {
      until.lastIndex = at;
      if (!until.test(text)) {
        const kept = text.length - LONGEST_END;
        return kept > at ? kept : -1;
      }
      const past = until.lastIndex;
      until = null;
      return past;
    }
    const tag = text.indexOf('<', at);
    if (tag !== at) {
      onText(text.slice(at, tag < 0 ? text.length : tag));
      return tag < 0 ? text.length : tag;
    }
    if (text.startsWith('<!--', at)) {
      until = /-->/g;
      return at + 4;
    }
    if (tagEnd < at) {
      const found = text.indexOf('>', at);
      tagEnd = found < 0 ? Number.POSITIVE_INFINITY : found;
    }
    if (tagEnd - at > LONGEST_TAG) return text.length - at < LONGEST_TAG ? -1 : at + 1;
    onTag(text.slice(at + 1, tagEnd));
    return tagEnd + 1;
  }

  return {
    push(piece) {
      text += piece;
      tagEnd = -1;
      let at = 0;
      while (at < text.length) {
        const next = step(at);
        if (next < 0) break;
        at = next;
      }
      text = text.slice(at);
    },
    end() {
      endRow();
      lines.end();
      text = '';
    },
  };
}
