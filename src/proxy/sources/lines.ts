import type { CandidateSink } from './candidate-sink.ts';
import type { Parser } from './source.ts';

/** Longer than any entry. A longer line is not from a list of lines, and must not be buffered. */
const LONGEST_LINE = 65_536;
const LF = 10;
const CR = 13;

/** Cuts text into lines, ended by LF, CRLF or CR alone. A line over 64 Ki characters is dropped and reported. */
export function createLineCutter(
  onLine: (text: string, start: number, end: number, number: number) => void,
  onTooLong: (number: number) => void,
): Parser {
  let carry = '';
  let number = 1;
  let wasCr = false;
  let dropping = false;

  function line(text: string, start: number, end: number): void {
    if (dropping) dropping = false;
    else if (carry === '') {
      if (end - start > LONGEST_LINE) onTooLong(number);
      else if (end > start) onLine(text, start, end, number);
    } else {
      const whole = carry + text.slice(start, end);
      onLine(whole, 0, whole.length, number);
    }
    carry = '';
  }

  return {
    push(text) {
      let start = 0;
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code !== LF && code !== CR) continue;
        // CR and LF end one line.
        const isSecond = code === LF && wasCr && i === start && carry === '';
        line(text, start, i);
        if (!isSecond) number++;
        wasCr = code === CR;
        start = i + 1;
      }
      if (dropping) return;
      carry += text.slice(start);
      if (carry.length <= LONGEST_LINE) return;
      carry = '';
      dropping = true;
      onTooLong(number);
    },
    end() {
      line('', 0, 0);
    },
  };
}

/**
 * Parses one entry a line: `ip:port` or `scheme://ip:port`, with anything after it. Comments and blank lines
 * are not counted.
 */
export function createLinesParser(sink: CandidateSink): Parser {
  return createLineCutter(
    (text, start, end, number) => {
      if (sink.entry(text, start, end)) return;
      const first = text.slice(start, Math.min(end, start + 64)).trimStart();
      if (first !== '' && !first.startsWith('#')) sink.reject(number, text.slice(start, end));
    },
    (number) => sink.reject(number),
  );
}
