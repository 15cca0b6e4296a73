import type { CandidateSink } from './candidate-sink.ts';
import { createLinesParser } from './lines.ts';
import { takeCells } from './record.ts';
import type { Parser } from './source.ts';

const LONGEST_TAG = 16_384;
const LONGEST_CELL = 256;
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
  /** What ends the part that is being skipped: `-->` or `</script`; empty outside such a part. */
  let until = '';

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
    else if (HIDDEN.test(name)) until = `</${name}`;
    else if (!INLINE.test(name)) onText(cell === null ? '\n' : ' ');
  }

  /** Skips one item at `at`. Returns where the next begins, or -1 if more text is needed. */
  function step(at: number): number {
    if (until !== '') {
      const tail = text.slice(at).toLowerCase();
      const end = tail.indexOf(until);
      // Of a skipped part, keep only enough to complete its end.
      if (end < 0) return tail.length > 16 ? text.length - 16 : -1;
      const past = at + end + (until === '-->' ? 3 : 0);
      until = '';
      return past;
    }
    const tag = text.indexOf('<', at);
    if (tag !== at) {
      onText(text.slice(at, tag < 0 ? text.length : tag));
      return tag < 0 ? text.length : tag;
    }
    if (text.startsWith('<!--', at)) {
      until = '-->';
      return at + 4;
    }
    const end = text.indexOf('>', at);
    if (end < 0 && text.length - at < LONGEST_TAG) return -1;
    if (end < 0 || end - at > LONGEST_TAG) return at + 1;
    onTag(text.slice(at + 1, end));
    return end + 1;
  }

  return {
    push(piece) {
      text += piece;
      let at = 0;
      while (at < text.length) {
        const next = step(at);
        if (next <= at) break;
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
