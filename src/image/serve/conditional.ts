import type { ByteRange } from '../store.ts';

/** What identifies a stored file; `modified` in ms since 1970. */
export interface Validators {
  /** Strong, in quotes. */
  etag: string;
  modified: number;
}

/** True if the caller has the file already: the answer is 304 (RFC 9110, section 13.2.2). */
export function isNotModified(headers: Headers, { etag, modified }: Validators): boolean {
  const known = headers.get('if-none-match');
  // The usual case first: pulling a list apart costs more than all the rest.
  if (known !== null) return known === etag || known.trim() === '*' || tagsIn(known).includes(etag);
  const since = headers.get('if-modified-since');
  return since !== null && Math.floor(modified / 1000) * 1000 <= Date.parse(since);
}

/** The tags of a list; weak ones count as well, as the comparison is a weak one. */
function tagsIn(list: string): string[] {
  return list.match(/"[^"]*"/g) ?? [];
}

/**
 * The part of the file that is asked for. `null`: the whole, as nothing else is asked for, or more than one part,
 * or the caller's part belongs to another version. `unsatisfiable`: it lies outside the file.
 */
export function requestedRange(
  headers: Headers,
  size: number,
  validators: Validators,
): ByteRange | 'unsatisfiable' | null {
  const range = headers.get('range');
  if (range === null || !isSameVersion(headers.get('if-range'), validators)) return null;
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}

function isSameVersion(condition: string | null, { etag, modified }: Validators): boolean {
  return condition === null || condition === etag || condition === httpDate(modified);
}

/** `Sat, 31 Jan 2026 08:05:09 GMT` */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
