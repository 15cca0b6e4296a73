import { endOfString, escapeLength, isRecord, parseForeignJson } from '../../lib/foreign-json.ts';
import type { CandidateSink } from './candidate-sink.ts';
import { createHtmlParser } from './html.ts';
import { takeRecord } from './record.ts';
import type { Parser } from './source.ts';

/** Longer than any description of one proxy. Some lists hold a page of HTML in one string, which is longer. */
const LONGEST_ELEMENT = 1_000_000;
const DEEPEST = 32;
/** A string that is an entry is much shorter. */
const LONGEST_STRING = 1_000;
const FIELD = /"protocols?"\s*:\s*$/i;

/**
 * Finds the objects that describe one proxy each, and parses only those: objects directly inside any array,
 * and objects at the top that contain no such array (one object a line). A list in any wrapper is thus read
 * piece by piece, a broken element costs only itself, and the event loop never waits for 20 MB of
 * `JSON.parse` (about 300 ms). Strings directly inside an array are entries as well.
 */
export function createJsonParser(sink: CandidateSink): Parser {
  /** Text from the start of the current object, and how far it was scanned. */
  let text = '';
  let at = 0;
  /** Open brackets: `[` or `{`; `(` for an array that describes one proxy. */
  let open: string[] = [];
  /** Where the object in an array began, and at which depth; -1 outside. */
  let element = -1;
  let elementDepth = 0;
  /** Where the object at the top began; -1 outside, or if it is too large or turned out to be a wrapper. */
  let top = -1;
  /** True while skipping the rest of a string that is too long. */
  let inLongString = false;

  function forget(): void {
    open = [];
    element = -1;
    top = -1;
  }

  function take(from: number, to: number): void {
    if (to - from <= LONGEST_ELEMENT) takeElement(text.slice(from, to), sink);
    else if (element >= 0) sink.reject();
  }

  function onString(from: number, to: number): void {
    if (element >= 0 || open.at(-1) !== '[') return;
    const said = unescaped(text.slice(from + 1, to));
    if (sink.entry(said, 0, said.length)) top = -1;
    else if (open[0] === '[') sink.reject();
  }

  function onOpen(bracket: string, i: number): void {
    const newLine = i > 0 && text.charCodeAt(i - 1) === 10;
    if (bracket === '{' && newLine && open[0] === '{' && !open.includes('[')) {
      // The previous line began an object and did not end it.
      sink.reject();
      forget();
    }
    if (bracket === '{' && element < 0) {
      if (open.length === 0) top = i;
      else if (open.at(-1) === '[') {
        element = i;
        elementDepth = open.length;
        top = -1;
      }
    }
    // The protocols of one proxy, with their ports, are not a list of proxies.
    open.push(bracket === '[' && FIELD.test(text.slice(Math.max(0, i - 32), i)) ? '(' : bracket);
    if (open.length > DEEPEST) forget();
  }

  function onClose(i: number): void {
    open.pop();
    if (element >= 0 && open.length === elementDepth) {
      take(element, i + 1);
      element = -1;
    } else if (top >= 0 && open.length === 0) {
      take(top, i + 1);
      top = -1;
    }
  }

  function scan(): void {
    if (inLongString) {
      const end = endOfString(text, -1);
      at = end < 0 ? text.length - escapeLength(text) : end + 1;
      if (end < 0) return;
      inLongString = false;
    }
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 34) {
        const end = endInLine(text, at);
        if (end < 0) return;
        if (text.charCodeAt(end) === 34) onString(at, end);
        else {
          if (element >= 0 || top >= 0) sink.reject();
          forget();
        }
        at = end;
      } else if (code === 123 || code === 91) onOpen(code === 123 ? '{' : '[', at);
      else if (code === 125 || code === 93) onClose(at);
    }
  }

  return {
    push(piece) {
      text += piece;
      scan();
      const keep = element >= 0 ? element : top >= 0 ? top : at;
      text = text.slice(keep);
      at -= keep;
      if (element >= 0) element = 0;
      if (top >= 0) top = 0;
      if (text.length <= LONGEST_ELEMENT) return;
      // Too long for one proxy: it is dropped, but the brackets still count. At the top it may be a wrapper.
      if (element >= 0) sink.reject();
      element = -1;
      top = -1;
      inLongString = at < text.length;
      text = inLongString ? text.slice(text.length - escapeLength(text)) : '';
      at = 0;
    },
    end() {
      if (element >= 0 || top >= 0) sink.reject();
      forget();
      text = '';
      at = 0;
    },
  };
}

/**
 * Returns where the string that begins at `from` ends, or the line in which it does not; -1 if the text ends before. To look for its end
 * in later lines would take quadratic time.
 */
function endInLine(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34 || code === 10) return at;
    if (code === 92 && text.charCodeAt(at + 1) !== 10) at++;
  }
  return -1;
}

/** Takes what one object describes: a proxy, or a page of HTML that lists several. */
function takeElement(text: string, sink: CandidateSink): void {
  try {
    const value: unknown = parseForeignJson(text, { maxLength: LONGEST_ELEMENT });
    if (!isRecord(value) || takeRecord(value, sink) || takeRecord(inLowerCase(value), sink)) return;
    const pages = Object.values(value).filter((field) => typeof field === 'string' && field.includes('<t'));
    if (pages.length === 0) sink.reject();
    for (const page of pages) {
      const html = createHtmlParser(sink);
      html.push(String(page));
      html.end();
    }
  } catch {
    sink.reject();
  }
}

/** Returns the content of a string with its escapes resolved: PHP writes `http:\/\/`. */
function unescaped(raw: string): string {
  if (raw.length > LONGEST_STRING || !raw.includes('\\')) return raw;
  try {
    return String(parseForeignJson(`"${raw}"`, { maxLength: LONGEST_STRING + 2 }));
  } catch {
    return raw;
  }
}

/** Returns the fields under names in lower case, as those of CSV are. */
function inLowerCase(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
}
