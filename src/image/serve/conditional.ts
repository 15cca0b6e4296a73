import type { ByteRange } from '../store.ts';

/** Identifies a version of a stored file; `modified` in ms since 1970. */
export interface Validators {
  /** A strong ETag, in quotes. */
  etag: string;
  modified: number;
}

/** Reports whether the caller already has the file, so that the answer is 304 (RFC 9110, section 13.2.2). */
export function isNotModified(headers: Headers, { etag, modified }: Validators): boolean {
  const known = headers.get('if-none-match');
  // The common case first, because parsing a list costs more than everything else.
  if (known !== null) return known === etag || known.trim() === '*' || tagsIn(known).includes(etag);
  const since = headers.get('if-modified-since');
  return since !== null && Math.floor(modified / 1000) * 1000 <= Date.parse(since);
}

/** Returns the tags of a list, including weak ones, because the comparison is weak. */
function tagsIn(list: string): string[] {
  return list.match(/"[^"]*"/g) ?? [];
}

/**
 * Returns the requested range of the file. `null`: the whole file, because no range or several were requested, or the
 * range belongs to another version. `unsatisfiable`: the range is outside the file.
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

/** Returns a date such as `Sat, 31 Jan 2026 08:05:09 GMT`. */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
